// Billing split anew when the stream of events is no longer the one in which the layout before began: a sequence of the
// former says nothing of the new one.
import { ensureEventsStream } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestStore, testDatabases } from '../fixtures/database.ts';
import { completed } from '../fixtures/events.ts';
import { runBilling, TestClient } from '../fixtures/running-billing.ts';
import { readLayout } from './layout.ts';
import { partitionsCommand } from './partitions-command.ts';

const ORGS = ['org_a', 'org_b'] as const;

const logger = makeLogger('partitions-test', 'silent');
let nats: TestServer;
let databases: Awaited<ReturnType<typeof testDatabases>>;
let database: TestStore;
let client: TestClient;

beforeAll(async () => {
  [nats, databases] = await Promise.all([startNats(), testDatabases()]);
  database = await databases.open();
  client = await TestClient.connect(nats.url);
}, 60_000);

afterAll(async () => {
  await client?.close();
  await databases?.stop();
  await nats?.stop();
});

const split = (to: number) =>
  partitionsCommand(String(to), { bus: client.bus, store: database.store, clock: systemClock, logger });

const ids = (name: string) => Array.from({ length: 6 }, (_, i) => `req_${name}_${i}`);

const publish = (name: string) =>
  client.publish(...ids(name).map((id, i) => completed(id, 1_000n, { org: ORGS[i % 2] ?? ORGS[0] })));

test('events of a new stream that nobody has read yet are booked, whatever number the old one had come to', async () => {
  const first = await runBilling(nats.url, database.url);
  await publish('before');
  await client.caughtUp(...ORGS);
  await first.stop();
  await split(2);
  expect((await readLayout(database.store)).from?.seq).toBe(ids('before').length);

  await client.bus.jsm.streams.delete(EVENTS_STREAM);
  await ensureEventsStream(client.bus);
  await publish('after');
  await split(1);
  expect((await readLayout(database.store)).from).toBeNull();

  const second = await runBilling(nats.url, database.url);
  await client.caughtUp(...ORGS);
  await second.stop();
  const rows = await database.store.ledger.find({ kind: 'call' }).toArray();
  expect(rows.map(({ _id }) => _id).sort()).toEqual([...ids('after'), ...ids('before')]);
}, 60_000);
