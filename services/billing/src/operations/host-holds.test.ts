// Holds of a computer host, over a real nats-server and a real MongoDB wire server: only minutes of computers that
// control placed there, at the price of their placements.
import { openBucket, requestWhole } from '@switchyard/bus';
import {
  type ComputerPlacement,
  eventIds,
  newId,
  newKeyId,
  operationSubject,
  placementKey,
  placeOf,
  ServiceError,
} from '@switchyard/contracts';
import { systemClock } from '@switchyard/service';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Accounts } from '../accounts/accounts.ts';
import { COMPUTER_MINUTES_MAX } from '../accounts/hold-desk.ts';
import type { AccountRecords } from '../accounts/records.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import { Progress } from '../progress.ts';
import { FIRST_PARTITION } from '../store/partition.ts';
import { hostHoldsRenew } from './host-holds.ts';

const [HOST, THIEF] = ['host_a', 'host_thief'];
const PRICE = 5_000_000; // 0.001 + 2 × 0.002 dollars, in nano-dollars
const CREDITS = 1;
const REFUSED = { code: 'permission_denied' };

let installation: TestInstallation;
let placement: ComputerPlacement;
let orgs = 0;

beforeAll(async () => {
  installation = await startInstallation();
  await installation.startBilling();
});
afterAll(() => installation?.stop());
beforeEach(async () => {
  const org = `org_holds${++orgs}`;
  await (await openBucket(installation.client.bus, 'orgs')).put(
    org,
    orgRecord(org, { billing: 'prepaid', monthly_limit: null }),
  );
  placement = {
    ...{ id: newId('computer'), org, key_id: newId('key'), host: HOST, image: 'test' },
    ...{ cpu: 2, memory_mb: 1_024, disk_gb: 1, created_at: new Date().toISOString() },
    rates: {
      ...{ per_minute: '0.001', per_vcpu_minute: '0.002' },
      ...{ per_gb_memory_minute: '0', per_gb_disk_minute: '0' },
    },
  };
  await (await openBucket(installation.client.bus, 'computer-placements')).put(
    placementKey(org, placement.id),
    placement,
  );
  await installation.client.ask('credits.create', {
    ...{ org, key_id: placement.key_id },
    body: { amount: CREDITS, reason: 'payment' },
  });
  await expect.poll(async () => (await account()).billing).toBe('prepaid');
});

const account = () =>
  installation.client.ask('account.get', { org: placement.org, key_id: placement.key_id });
const minuteOf = (minute: number) => eventIds.minute(placement.id, 1, minute);
const take = (minute: number, host = HOST) =>
  installation.client.ask('host-holds.take', { host, org: placement.org, call: minuteOf(minute) });
const settle = (minute: number, spent: boolean, host = HOST) =>
  installation.client.ask('host-holds.settle', { host, org: placement.org, call: minuteOf(minute), spent });
const renew = (minutes: number[], host = HOST) =>
  installation.client.ask('host-holds.renew', {
    ...{ host, place: placeOf(placement.org) },
    holds: minutes.map((minute) => ({ org: placement.org, call: minuteOf(minute) })),
  });
/** Dollars. */
const held = async () => (await account()).held;
const dollars = (minutes: number) => (minutes * PRICE) / 1e9;

test('a computer outlives its key, and a limited key above that', async () => {
  const limit = { amount: 1, interval: 'day' } as const;
  const key_id = newKeyId({ id: newId('key'), limit });
  placement = { ...placement, id: newId('computer'), key_id };
  await (await openBucket(installation.client.bus, 'computer-placements')).put(
    placementKey(placement.org, placement.id),
    placement,
  );
  expect(await take(0)).toMatchObject({ granted_nano: String(PRICE) });
  await settle(0, false);
});

test('a host holds a minute at the price of the placement, renews it and gives it back', async () => {
  expect(await take(0)).toEqual({ granted_nano: String(PRICE), capped: false });
  await renew([0, 1]); // a new owner learns of a hold by its renewal
  expect(await held()).toBe(dollars(2));
  await settle(0, false);
  await settle(1, false);
  expect(await held()).toBe(0);
});

test('another host holds, renews and ends nothing of it', async () => {
  await take(0);
  await expect(take(1, THIEF)).rejects.toMatchObject(REFUSED);
  await expect(settle(0, true, THIEF)).rejects.toMatchObject(REFUSED);
  await renew([1], THIEF);
  expect(await held()).toBe(dollars(1));
});

test('a renewal fails alone when the limits of one hold and the placement of the next cannot be read', async () => {
  const unavailable = new ServiceError('service_unavailable', 'JetStream does not answer');
  const records = {
    async placement(_org: string, computer: string) {
      if (computer === placement.id) return placement;
      await new Promise(setImmediate); // the limits of the hold before it have failed by now
      throw unavailable;
    },
    require: () => Promise.reject(unavailable),
  } as unknown as AccountRecords;
  const accounts = new Accounts({
    ...{ store: installation.database.store, progress: new Progress(), clock: systemClock, records },
    partitions: [FIRST_PARTITION],
  });
  const rejected = vi.fn<(error: unknown) => void>();
  process.on('unhandledRejection', rejected);
  const calls = [minuteOf(0), eventIds.minute(newId('computer'), 1, 0)];
  const holds = calls.map((call) => ({ org: placement.org, call }));
  const renewal = { host: HOST, place: placeOf(placement.org), holds };
  await expect(hostHoldsRenew(renewal, { accounts, records })).rejects.toBe(unavailable);
  await new Promise(setImmediate); // unhandled rejections are reported at the end of a turn
  process.off('unhandledRejection', rejected);
  expect(rejected).not.toHaveBeenCalled();
});

test('a host that names another one in its request is refused', async () => {
  const request = { host: HOST, org: placement.org, call: minuteOf(0) };
  const forged = requestWhole(
    installation.client.bus,
    {
      subject: operationSubject('host-holds.take', { ...request, host: THIEF }),
      head: { request_id: null },
      body: Buffer.from(JSON.stringify(request)),
    },
    {},
  );
  await expect(forged).rejects.toMatchObject(REFUSED);
  expect(await held()).toBe(0);
});

test.each(['req_x', 'cmp_unknown:1:0', 'cmp_x'])(
  'a host holds nothing for %s, which is no minute of a placed computer',
  async (call) => {
    const asked = installation.client.ask('host-holds.take', { host: HOST, org: placement.org, call });
    await expect(asked).rejects.toMatchObject(REFUSED);
    const elsewhere = { host: HOST, org: 'org_other', call: minuteOf(0) };
    await expect(installation.client.ask('host-holds.take', elsewhere)).rejects.toMatchObject(REFUSED);
  },
);

test('a computer has a bounded number of minutes that are held, spent or renewed', async () => {
  await Promise.all(Array.from({ length: COMPUTER_MINUTES_MAX }, (_, minute) => take(minute)));
  await settle(0, true);
  await expect(take(COMPUTER_MINUTES_MAX)).rejects.toMatchObject({ code: 'service_unavailable' });
  await renew([COMPUTER_MINUTES_MAX, COMPUTER_MINUTES_MAX + 1]);
  expect(await held()).toBeLessThanOrEqual(dollars(COMPUTER_MINUTES_MAX));
  await settle(1, false);
  await take(COMPUTER_MINUTES_MAX);
});
