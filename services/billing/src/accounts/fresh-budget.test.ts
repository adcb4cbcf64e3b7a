// Budgets and holds around an interrupted batch, midnight, and a change of the owner.
import { setImmediate } from 'node:timers/promises';
import { openBucket } from '@switchyard/bus';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startBooking } from '../fixtures/booking.ts';
import { completed, credited, ORG, TIME } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import type { Store } from '../store/store.ts';
import { type HoldRequest, SETTLED_MS_MAX } from './hold-desk.ts';

const PREPAID = orgRecord(ORG, { billing: 'prepaid', monthly_limit: null }, TIME);
let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
});

afterAll(() => installation?.stop());

/** A store whose sums cannot be written while `isFailing` returns true. Calls `onTried` on each attempt. */
function storeWithoutSums(isFailing: () => boolean, onTried: () => void): Store {
  const { days } = installation.database.store.aggregates;
  const silent = new Proxy(days, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'bulkWrite') return value;
      return async (...args: Parameters<typeof days.bulkWrite>) => {
        if (!isFailing()) return target.bulkWrite(...args);
        onTried();
        throw new Error('the sums cannot be written');
      };
    },
  });
  return {
    ...installation.database.store,
    aggregates: { ...installation.database.store.aggregates, days: silent },
  };
}

test('a budget that is first read after an interrupted batch includes the rows missing in the sums', async () => {
  let isFailing = true;
  const cut = Promise.withResolvers<void>();
  const store = storeWithoutSums(() => isFailing, cut.resolve);
  const { client } = installation;
  await (await openBucket(client.bus, 'orgs')).put(ORG, PREPAID);
  await client.publish(credited('cred_1', 100n), completed('req_cut', 60n));
  const booking = await startBooking({ bus: client.bus, store });
  const { accounts } = booking;
  await cut.promise;

  const asked = accounts.limitsOf(ORG, 'key_1');
  await expect(asked, 'while the sums are incomplete').rejects.toMatchObject({
    ...{ code: 'service_unavailable', retryAfterS: 1 },
  });
  isFailing = false;
  const [limit] = await vi.waitFor(() => accounts.limitsOf(ORG, 'key_1'), { timeout: 60_000 });
  expect(limit?.budget).toMatchObject({ limit: 100n, spent: 60n, available: 40n });

  await booking.stop();
});

test('a budget whose month ends while it is read begins the next month with nothing spent', async () => {
  const org = 'org_midnight';
  const month = { billing: 'postpaid', monthly_limit: 0.0000001 } as const;
  const clock = new FakeClock(Date.parse('2026-11-30T23:59:59.999Z'));
  const { client, database } = installation;
  let isAsked = false;
  const days = new Proxy(database.store.aggregates.days, {
    get(target, name) {
      if (name === 'find' && isAsked) clock.advance(1); // December begins
      return Reflect.get(target, name);
    },
  });
  const store = { ...database.store, aggregates: { ...database.store.aggregates, days } };
  await (await openBucket(client.bus, 'orgs')).put(org, orgRecord(org, month, TIME));
  await client.publish(completed('req_november', 100n, { org }));
  const { accounts, stop } = await startBooking({ bus: client.bus, store, clock });
  await expect.poll(() => database.store.ledger.findOne({ _id: 'req_november' })).not.toBeNull();
  await accounts.lock.run(() => {}); // booking reads days too
  isAsked = true;
  const [limit] = await vi.waitFor(() => accounts.limitsOf(org, 'key_1'), { timeout: 60_000 });
  accounts.desk.open();
  const call = { call: 'req_december', org, limits: limit ? [limit] : [], amount: 100n, exact: true };
  expect(await accounts.desk.take(call)).toEqual({ granted: 100n, capped: false });
  await stop();
});

test('each hold is restored once its limits are known, also when another one is refused', async () => {
  const { client, database } = installation;
  const clock = new FakeClock(); // no hold expires
  const { accounts, stop } = await startBooking({ bus: client.bus, store: database.store, clock });
  const [limit] = await vi.waitFor(() => accounts.limitsOf(ORG, 'key_1'), { timeout: 60_000 });
  const requestOf = (call: string): HoldRequest => ({
    ...{ call, org: ORG, limits: limit ? [limit] : [], amount: 10n, exact: false },
  });
  const slow = Promise.withResolvers<HoldRequest>();
  const restoring = accounts.restore([
    slow.promise,
    Promise.reject(new Error('the records are unavailable')),
    Promise.resolve(requestOf('req_quick')),
  ]);
  restoring.catch(() => {});
  let all = false;
  const restored = accounts.restored().then(() => {
    all = true;
  });
  await expect.poll(() => limit?.budget.held).toBe(10n);
  expect(all).toBe(false);
  slow.resolve(requestOf('req_slow'));
  await restored;
  expect(limit?.budget.held).toBe(20n);
  await expect(restoring).rejects.toThrow('the records are unavailable');
  await stop();
});

/** @param answer gives the ledger's answer about holds whose calls are named `req_waits_…`, or fails */
function storeThatLooksUp(answer: (ask: () => unknown) => unknown): Store {
  const { store } = installation.database;
  const ledger = Object.assign(Object.create(store.ledger) as Store['ledger'], {
    find: (...query: Parameters<Store['ledger']['find']>) => {
      const isOfThem = JSON.stringify(query[0]?._id ?? '').includes('req_waits_');
      const ask = () => store.ledger.find(...query);
      return isOfThem ? answer(ask) : ask();
    },
  });
  return { ...store, ledger };
}

async function restoreWhileBooking(store: Store, holdCount: number) {
  const clock = new FakeClock();
  const { accounts, stop } = await startBooking({ bus: installation.client.bus, store, clock });
  const limits = await vi.waitFor(() => accounts.limitsOf(ORG, 'key_1'), { timeout: 60_000 });
  const holds = Array.from({ length: holdCount }, (_, i) => {
    const call = `req_waits_${i}`;
    return Promise.resolve<HoldRequest>({ call, org: ORG, limits, amount: 10n, exact: false });
  });
  const batch = Promise.withResolvers<void>();
  const booking = accounts.lock.run(() => batch.promise);
  const restoring = Promise.allSettled([accounts.restore(holds), accounts.restore(holds)]);
  await setImmediate(); // all holds wait by now
  batch.resolve();
  await booking;
  const outcomes = (await restoring).map(({ status }) => status);
  return { outcomes, accounts, holds, budget: limits[0]?.budget, stop };
}

test('holds that wait for a batch are looked up in the ledger at once, also when they are renewed meanwhile', async () => {
  let lookups = 0;
  const store = storeThatLooksUp((ask) => {
    lookups += 1;
    return ask();
  });
  const { outcomes, budget, stop } = await restoreWhileBooking(store, 100);
  expect(outcomes).toEqual(['fulfilled', 'fulfilled']);
  expect(budget?.held).toBe(1_000n);
  expect(lookups).toBe(1);
  await stop();
});

test('a failed lookup fails each renewal that waits for it, and the next renewal restores the holds', async () => {
  let fails = true;
  const store = storeThatLooksUp((ask) => {
    if (fails) throw new Error('the ledger is unavailable');
    return ask();
  });
  const { outcomes, accounts, holds, budget, stop } = await restoreWhileBooking(store, 10);
  expect(outcomes).toEqual(['rejected', 'rejected']);
  fails = false;
  await accounts.restore(holds);
  expect(budget?.held).toBe(100n);
  await stop();
});

test('a settled call whose batch failed half-way raises no alarm: the ledger has it', async () => {
  const org = 'org_recovered';
  let isFailing = false;
  const cut = Promise.withResolvers<void>();
  const store = storeWithoutSums(() => isFailing, cut.resolve);
  const { client, database } = installation;
  await (await openBucket(client.bus, 'orgs')).put(org, orgRecord(org, PREPAID, TIME));
  const clock = new FakeClock();
  const logger = makeLogger('booking-test', 'silent');
  const alarms = vi.spyOn(logger, 'error');
  const { accounts, stop } = await startBooking({ bus: client.bus, store, clock, logger });
  await client.publish(credited('cred_r', 100n, { org }));
  await expect.poll(() => database.store.ledger.findOne({ _id: 'cred_r' })).not.toBeNull();
  const limits = await vi.waitFor(() => accounts.limitsOf(org, 'key_1'), { timeout: 60_000 });
  accounts.desk.open();
  await accounts.desk.take({ call: 'req_r', org, limits, amount: 60n, exact: true });
  accounts.desk.settle('req_r', 60n);
  isFailing = true;
  await client.publish(completed('req_r', 60n, { org }));
  await cut.promise;
  isFailing = false;
  clock.advance(SETTLED_MS_MAX + 20_000);
  await expect.poll(() => accounts.desk.overdue).toEqual([]);
  expect(alarms).not.toHaveBeenCalledWith(
    expect.objectContaining({ alarm: 'settled_not_booked' }),
    expect.anything(),
  );
  const [limit] = await accounts.limitsOf(org, 'key_1');
  expect(limit?.budget.available).toBe(40n);
  await stop();
});
