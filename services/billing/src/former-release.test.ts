// Processes of the release before partitions, while this one is brought out: they ask on other subjects, and say less.
import { openReply } from '@switchyard/bus';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestStore, testDatabases } from './fixtures/database.ts';
import { completed, ORG } from './fixtures/events.ts';
import { runBilling, type TestBilling, TestClient } from './fixtures/running-billing.ts';

let nats: TestServer;
let databases: Awaited<ReturnType<typeof testDatabases>>;
let database: TestStore;
let client: TestClient;
let billing: TestBilling;

beforeAll(async () => {
  [nats, databases] = await Promise.all([startNats(), testDatabases()]);
  database = await databases.open();
  client = await TestClient.connect(nats.url);
  billing = await runBilling(nats.url, database.url);
}, 60_000);

afterAll(async () => {
  await billing?.stop();
  await client?.close();
  await databases?.stop();
  await nats?.stop();
});

/** As that release did it. */
async function askAsBefore(operation: string, payload: object): Promise<unknown> {
  const subject = `billing.v1.p0.${operation}`;
  const body = Buffer.from(JSON.stringify(payload));
  const reply = await openReply(client.bus, { subject, head: { request_id: null }, body, timeoutMs: 10_000 });
  const chunks: Buffer[] = [];
  for await (const chunk of reply.body) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

test('an edge and a router of the release before are answered by the only partition', async () => {
  await client.publish(completed('req_1', 5_000_000_000n, { time: new Date() }));
  await client.caughtUp();
  const caller = { org: ORG, key_id: 'key_1' };
  expect(await askAsBefore('account.get', caller)).toMatchObject({ spent: 5 });
  const hold = { ...caller, call: 'req_2', amount_nano: '7' };
  expect(await askAsBefore('holds.take', { ...hold, exact: false })).toMatchObject({ granted_nano: null });
  expect(await askAsBefore('holds.renew', { holds: [hold] })).toEqual({});
  expect(await askAsBefore('holds.settle', { call: 'req_2', event: 'req_2', cost_nano: '7' })).toEqual({});
}, 30_000);
