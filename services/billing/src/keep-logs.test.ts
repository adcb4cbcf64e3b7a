// Retention removes old rows from the logs in batches, and from nothing else.
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestStore, testDatabases } from './fixtures/database.ts';
import { completed, metered, ORG, refused, TIME, videoCharged, voided } from './fixtures/events.ts';
import { startInstallation } from './fixtures/installation.ts';
import { keepLogs } from './keep-logs.ts';
import type { BudgetAlert } from './store/documents.ts';
import { entryOf } from './store/entry-of.ts';
import { LedgerWriter } from './store/ledger-writer.ts';
import { logsCompleteFrom, removeLogsBefore } from './store/log-retention.ts';

const DAY_MS = 86_400_000;
const logger = makeLogger('test', 'silent');
const day = (days: number) => new Date(TIME.getTime() + days * DAY_MS);

let databases: Awaited<ReturnType<typeof testDatabases>>;
beforeAll(async () => {
  databases = await testDatabases();
});
afterAll(() => databases.stop());

async function tenDays(): Promise<TestStore> {
  const database = await databases.open();
  const writer = new LedgerWriter({ store: database.store, logger });
  await writer.recover();
  const events = Array.from({ length: 10 }, (_, i) => [
    completed(`req_${i}`, 5n, { time: day(i) }),
    refused(`req_no${i}`, { time: day(i) }),
    metered('cmp_1', i, 7n, { time: day(i) }),
    ...(i % 3 === 0 ? [voided(`req_${i}`, { time: day(9) })] : []),
  ]).flat();
  await writer.append(events.flatMap((event) => entryOf(event) ?? []));
  return database;
}

test('rows past retention are removed; the ledger and its sums stay, and the remaining logs agree with it', async () => {
  const { store } = await tenDays();
  const clock = new FakeClock(day(10).getTime());
  const stopping = new AbortController();
  const ledger = await store.ledger.find().toArray();
  const keeping = keepLogs({ store, logDays: 4, clock, logger, signal: stopping.signal });
  await expect.poll(() => store.logs.countDocuments()).toBe(4 * 3);
  await expect.poll(() => clock.waiting).toBe(1);
  expect(await store.ledger.find().toArray()).toEqual(ledger);

  const from = await logsCompleteFrom(store);
  expect(from?.toISOString()).toBe('2026-11-26T10:00:00.000Z');
  const since = { at: { $gte: from ?? new Date(0) } };
  const sum = (rows: { cost: bigint }[]) => rows.reduce((total, { cost }) => total + cost, 0n);
  expect(sum(await store.logs.find(since).toArray())).toBe(sum(await store.ledger.find(since).toArray()));

  clock.advance(DAY_MS);
  await expect.poll(() => store.logs.countDocuments()).toBe(3 * 3);
  stopping.abort();
  await keeping;
});

test('logs and alerts are removed although lines of the audit log cannot be', async () => {
  const { store } = await tenDays();
  const ended = { ends_at: day(-30), published_at: day(-30), org: ORG };
  await store.alerts.insertOne({ _id: 'alert_old', ...ended } as BudgetAlert);
  const auditLog = Object.assign(Object.create(store.auditLog) as typeof store.auditLog, {
    deleteMany: () => Promise.reject(new Error('the database is slow')),
  });
  const clock = new FakeClock(day(10).getTime());
  const stopping = new AbortController();
  const options = { logDays: 4, clock, logger, signal: stopping.signal };
  const keeping = keepLogs({ store: { ...store, auditLog }, ...options });
  await expect.poll(() => clock.waiting).toBe(1); // the first sweep has ended
  stopping.abort();
  await keeping;
  expect(await store.logs.countDocuments()).toBe(4 * 3);
  expect(await store.alerts.countDocuments()).toBe(0);
});

test('with 0 days no log is removed, and the logs are complete', async () => {
  const { store } = await tenDays();
  const clock = new FakeClock(day(36_500).getTime());
  const stopping = new AbortController();
  const keeping = keepLogs({ store, logDays: 0, clock, logger, signal: stopping.signal });
  await expect.poll(() => clock.waiting).toBe(1); // the first sweep has ended
  stopping.abort();
  await keeping;
  expect(await store.logs.countDocuments()).toBe(30);
  expect(await logsCompleteFrom(store)).toBeNull();
});

test('an interrupted removal has already stored the time of completeness; a repeat finishes it', async () => {
  const { store } = await tenDays();
  const stopping = new AbortController();
  const { logs } = store;
  const dying: typeof store = {
    ...store,
    logs: Object.assign(Object.create(logs) as typeof logs, {
      deleteMany: () => Promise.reject(new Error('killed')),
    }),
  };
  await expect(removeLogsBefore(dying, day(5), stopping.signal)).rejects.toThrow('killed');
  expect(await logsCompleteFrom(store)).toEqual(day(5));
  expect(await removeLogsBefore(store, day(5), stopping.signal)).toBe(15);
  expect(await removeLogsBefore(store, day(3), stopping.signal)).toBe(0);
  expect(await logsCompleteFrom(store)).toEqual(day(5));
});

test('a video whose log was removed is found and refunded by its request id', async () => {
  const installation = await startInstallation();
  const { client, database } = installation;
  try {
    await installation.startBilling();
    await client.publish(videoCharged('vid_old', 30n));
    const request_id = 'req_of_vid_old';
    expect(await client.log(request_id)).toMatchObject({ cost: 3e-8 });
    expect(await removeLogsBefore(database.store, day(1), new AbortController().signal)).toBe(1);
    const ask = { org: ORG, key_id: 'key_1' };
    await expect(client.ask('logs.get', { ...ask, id: request_id })).rejects.toMatchObject({
      ...{ code: 'log_not_found', message: expect.stringContaining('was removed for its age') },
    });
    await expect(client.ask('logs.get', { ...ask, org: 'org_other', id: request_id })).rejects.toMatchObject({
      ...{ code: 'log_not_found', message: expect.stringContaining('there is no log') },
    });
    const body = { request_id, reason: 'test' };
    expect(await client.ask('refunds.create', { ...ask, refund_id: 'rfd_old', body })).toMatchObject({
      ...{ event: 'vid_old:charge:refund:1', charge: 'vid_old:charge', left: 0 },
    });
    expect((await client.logs({ request_id })).data.map(({ id }) => id)).toEqual(['vid_old:charge:refund:1']);
  } finally {
    await installation.stop();
  }
});
