// Account records on a real nats-server that answers too late, or whose watches deliver nothing.
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { keyRecordKey } from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { keyRecord } from '../fixtures/key-record.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import { Progress } from '../progress.ts';
import type { Store } from '../store/store.ts';
import { Accounts } from './accounts.ts';
import { openRecords } from './records.ts';

const logger = makeLogger('records-test', 'silent');
const BUCKETS = ['orgs', 'keys'] as const;
let nats: TestServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'billing', logger });
  for (const bucket of BUCKETS) await openBucket(bus, bucket);
});

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
  await expect.poll(watches).toBe(0);

  const records = await openRecords(bus);
  expect(await watches()).toBe(2);
  records.close();
  await expect.poll(watches).toBe(0);
});

test.each(['keys', 'orgs'] as const)(
  'while the watch of %s delivers nothing, a call whose limits may be missing is refused, until the watch is restarted',
  async (bucket) => {
    const org = `org_without_${bucket}`;
    const [orgs, keys] = await Promise.all([openBucket(bus, 'orgs'), openBucket(bus, 'keys')]);
    const records = await openRecords(bus);
    const store = {} as Store; // not read: these records have no limit, or are not known
    const accounts = new Accounts({
      ...{ records, store, progress: new Progress(), clock: systemClock, partitions: ['p0'] },
    });
    const restart = vi.spyOn(records[bucket].kv, 'watch').mockRejectedValue(new Error('not yet'));
    for await (const { name } of bus.jsm.consumers.list(`KV_${bucket}`))
      await bus.jsm.consumers.delete(`KV_${bucket}`, name);
    await orgs.put(org, orgRecord(org, { billing: 'postpaid', monthly_limit: null }));
    await keys.put(keyRecordKey(org, 'key_1'), keyRecord('key_1', org, null));
    await expect(accounts.limitsOf(org, 'key_1')).rejects.toMatchObject({
      ...{ code: 'service_unavailable', retryAfterS: 1 },
    });
    restart.mockRestore();
    expect(await vi.waitFor(() => accounts.limitsOf(org, 'key_1'), { timeout: 60_000 })).toEqual([]);
    expect(records.keyRecord(org, 'key_1')).not.toBeNull();
    expect(records.orgRecord(org)).not.toBeNull();
    records.close();
  },
);

test('when control is away, calls pass: of orgs and keys in memory, and of those without a record', async () => {
  const [orgs, keys] = await Promise.all([openBucket(bus, 'orgs'), openBucket(bus, 'keys')]);
  await orgs.put('org_away', orgRecord('org_away', { billing: 'postpaid', monthly_limit: null }));
  await keys.put(keyRecordKey('org_away', 'key_1'), keyRecord('key_1', 'org_away', null));
  const records = await openRecords(bus);
  const compared = [vi.spyOn(records.orgs, 'lastRevision'), vi.spyOn(records.keys, 'lastRevision')];
  const requireKnown = async () => {
    await records.require('org_away', ['key_1']);
    return compared.every((spy) => spy.mock.calls.length > 0); // memory is compared once it lacks a tick
  };
  await vi.waitUntil(requireKnown, { timeout: 60_000 });
  await records.require('org_none', ['key_none']);
  records.close();
});
