// Processes of the release before partitions, while this one is brought out: they ask on other subjects, and say less.
import { AckPolicy, DeliverPolicy, JetStreamApiError } from '@nats-io/jetstream';
import { openReply } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completed, ORG } from './fixtures/events.ts';
import { startInstallation, type TestInstallation } from './fixtures/installation.ts';
import { partitionsCommand } from './partitions/partitions-command.ts';

let on: TestInstallation;

beforeAll(async () => {
  on = await startInstallation();
  await on.startBilling();
}, 60_000);

afterAll(() => on?.stop());

/** As that release did it. */
async function askAsBefore(operation: string, payload: object): Promise<unknown> {
  const subject = `billing.v1.p0.${operation}`;
  const body = Buffer.from(JSON.stringify(payload));
  const reply = await openReply(on.client.bus, {
    subject,
    head: { request_id: null },
    body,
    timeoutMs: 10_000,
  });
  const chunks: Buffer[] = [];
  for await (const chunk of reply.body) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

test('an edge and a router of the release before are answered by the only partition', async () => {
  await on.client.publish(completed('req_1', 5_000_000_000n, { time: new Date() }));
  await on.client.caughtUp();
  const caller = { org: ORG, key_id: 'key_1' };
  expect(await askAsBefore('account.get', caller)).toMatchObject({ spent: 5 });
  const hold = { ...caller, call: 'req_2', amount_nano: '7' };
  expect(await askAsBefore('holds.take', { ...hold, exact: false })).toMatchObject({ granted_nano: null });
  expect(await askAsBefore('holds.renew', { holds: [hold] })).toEqual({});
  expect(await askAsBefore('holds.settle', { call: 'req_2', event: 'req_2', cost_nano: '7' })).toEqual({});
}, 120_000);

/** The consumer of that release, made as it made it. */
const CONSUMER = {
  durable_name: 'billing-p0',
  deliver_policy: DeliverPolicy.All,
  ack_policy: AckPolicy.Explicit,
  ...{ ack_wait: 5_000_000_000, max_ack_pending: 2_000, max_deliver: -1 },
};

test('a billing of the release before gets no event while billing is split: it would book them all into one', async () => {
  const { consumers } = on.client.bus.jsm;
  const command = {
    ...{ bus: on.client.bus, store: on.database.store, clock: systemClock },
    logger: makeLogger('former-release-test', 'silent'),
  };
  await partitionsCommand('2', command);
  await expect(consumers.add(EVENTS_STREAM, CONSUMER)).rejects.toBeInstanceOf(JetStreamApiError);
  expect((await consumers.info(EVENTS_STREAM, CONSUMER.durable_name)).num_pending).toBe(0);
  await on.client.publish(completed('req_split', 1_000_000_000n, { time: new Date() }));
  await on.client.caughtUp();
  expect((await consumers.info(EVENTS_STREAM, CONSUMER.durable_name)).num_pending).toBe(0);
  await partitionsCommand('1', command);
  expect(await consumers.add(EVENTS_STREAM, CONSUMER)).toMatchObject({ name: 'billing-p0' });
}, 120_000);
