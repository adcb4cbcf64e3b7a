// Account records on a real nats-server that answers too late.
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRecords } from './records.ts';

const logger = makeLogger('records-test', 'silent');
const BUCKETS = ['orgs', 'keys'] as const;
let nats: TestServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'billing', logger });
  for (const bucket of BUCKETS) await openBucket(bus, bucket);
}, 60_000);

afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

/** Number of bucket watches that still have a subscriber. */
async function watches(): Promise<number> {
  let count = 0;
  for (const bucket of BUCKETS)
    for await (const { push_bound } of bus.jsm.consumers.list(`KV_${bucket}`)) if (push_bound) count += 1;
  return count;
}

test('records that open too late are closed, and no watch remains', async () => {
  const opened = Promise.withResolvers<void>();
  bus.nc.subscribe('$JS.EVENT.ADVISORY.CONSUMER.CREATED.KV_keys.>', { callback: () => opened.resolve() });
  await bus.nc.flush();
  process.kill(nats.pid, 'SIGSTOP');
  try {
    await expect(openRecords(bus, 50)).rejects.toThrow('not read within 50 ms');
  } finally {
    process.kill(nats.pid, 'SIGCONT');
  }
  await opened.promise;
  await expect.poll(watches, { timeout: 20_000 }).toBe(0);

  const records = await openRecords(bus);
  expect(await watches()).toBe(2);
  records.close();
  await expect.poll(watches, { timeout: 20_000 }).toBe(0);
}, 60_000);
