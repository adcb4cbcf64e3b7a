// Settled costs whose events are not booked in time: they count while the events wait in the stream.
import { openBucket, publishEvent } from '@switchyard/bus';
import { HOST_EVENTS_STREAM } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startBooking, storeInTurn } from '../fixtures/booking.ts';
import { completed, credited, metered, ORG, TIME } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import { SETTLED_MS_MAX } from './hold-desk.ts';

const BUSY_MS = 60_000;
let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
});

afterAll(() => installation?.stop());

test('credits that are spent stay spent while booking is stalled; an event that never came is dropped', async () => {
  const { client, database } = installation;
  await (await openBucket(client.bus, 'orgs')).put(
    ORG,
    orgRecord(ORG, { billing: 'prepaid', monthly_limit: null }, TIME),
  );
  const stalled = Promise.withResolvers<void>();
  const atLedger = Promise.withResolvers<void>();
  let isStalled = false;
  const store = storeInTurn(database.store, async () => {
    if (!isStalled) return;
    atLedger.resolve();
    await stalled.promise;
  });
  const clock = new FakeClock();
  const { accounts, progress, stop } = await startBooking({ bus: client.bus, store, clock });
  accounts.desk.open();
  await client.publish(credited('crd_1', 100n));
  await expect.poll(() => database.store.ledger.countDocuments()).toBe(1);
  const take = async (call: string, amount: bigint) =>
    accounts.desk.take({
      call,
      org: ORG,
      limits: await accounts.limitsOf(ORG, 'key_1'),
      amount,
      exact: true,
    });
  await vi.waitFor(() => take('req_late', 60n), { timeout: BUSY_MS });
  await take('req_never', 40n);

  isStalled = true;
  await client.publish(completed('req_late', 60n));
  await atLedger.promise;
  accounts.desk.settle('req_late', 60n);
  accounts.desk.settle('req_never', 40n);
  let isSearched = false;
  progress.onHurry(() => {
    isSearched = true;
  });
  clock.advance(SETTLED_MS_MAX);
  await expect
    .poll(() => {
      clock.advance(10_000); // a search may fail on a busy machine
      return isSearched;
    })
    .toBe(true);
  await expect(take('req_more', 1n)).rejects.toMatchObject({ code: 'insufficient_funds', status: 402 });

  stalled.resolve();
  const [limit] = await accounts.limitsOf(ORG, 'key_1');
  await expect
    .poll(() => {
      clock.advance(10_000);
      return limit?.budget.available;
    })
    .toBe(40n);
  expect(accounts.desk.overdue).toEqual([]);
  await stop();
});

test('minutes of a computer stay spent while their events wait for control; lost ones are dropped', async () => {
  const { client, database } = installation;
  const org = 'org_minutes';
  await (await openBucket(client.bus, 'orgs')).put(
    org,
    orgRecord(org, { billing: 'prepaid', monthly_limit: null }, TIME),
  );
  const clock = new FakeClock();
  const { accounts, stop } = await startBooking({ bus: client.bus, store: database.store, clock });
  const { desk } = accounts;
  desk.open();
  await client.publish(credited('crd_minutes', 100n, { org }));
  const take = async (call: string, amount: bigint) =>
    desk.take({ call, org, limits: await accounts.limitsOf(org, 'key_1'), amount, exact: true });
  const minute = metered('cmp_1', 0, 60n, { org });
  await vi.waitFor(() => take(minute.id, 60n), { timeout: BUSY_MS });
  await take('req_never', 40n);
  desk.settle(minute.id, 60n);
  desk.settle('req_never', 40n);
  await publishEvent(client.bus, minute, { host: 'host_1', timeoutMs: 30_000 });

  clock.advance(SETTLED_MS_MAX);
  await expect
    .poll(() => {
      clock.advance(10_000); // a search may fail on a busy machine
      return desk.overdue;
    })
    .toEqual([minute.id]);
  await expect(take('req_more', 41n)).rejects.toMatchObject({ code: 'insufficient_funds', status: 402 });

  await client.bus.jsm.streams.purge(HOST_EVENTS_STREAM);
  await vi.waitFor(
    () => {
      clock.advance(10_000);
      expect(desk.overdue).toEqual([]);
    },
    { timeout: BUSY_MS },
  );
  await stop();
});
