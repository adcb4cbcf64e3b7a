// What readers see while batches are in progress.
import { makeLogger, systemClock } from '@switchyard/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAccounts } from './accounts/open-accounts.ts';
import { openRecords } from './accounts/records.ts';
import { driftOf, orgWindow } from './audit/org-window.ts';
import { bookEvents } from './booking.ts';
import { completed, ORG } from './fixtures/events.ts';
import { startInstallation, type TestInstallation } from './fixtures/installation.ts';
import { ONLY_PARTITION } from './partitions/partition.ts';
import { Progress } from './progress.ts';
import type { Store } from './store/store.ts';

const logger = makeLogger('booking-test', 'silent');
let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
}, 60_000);

afterAll(() => installation?.stop());

/** A store whose ledger accepts rows only after the gate opens. */
function storeBehind(gate: Promise<void>): Store {
  const ledger = new Proxy(installation.database.store.ledger, {
    get(target, name) {
      if (name !== 'insertMany') return Reflect.get(target, name);
      return async (...rows: Parameters<typeof target.insertMany>) => {
        await gate;
        return target.insertMany(...rows);
      };
    },
  });
  return { ...installation.database.store, ledger };
}

test('sums are read only while no batch is in progress', async () => {
  const gate = Promise.withResolvers<void>();
  const over = new AbortController();
  const store = storeBehind(gate.promise);
  const records = await openRecords(installation.client.bus);
  const options = {
    bus: installation.client.bus,
    store,
    partition: ONLY_PARTITION,
    progress: new Progress(),
  };
  const { accounts, close } = openAccounts({ ...options, records, clock: systemClock, logger });
  const booking = bookEvents({ ...options, accounts, logger, signal: over.signal });
  await installation.client.publish(completed('req_booked', 1_000n, { time: new Date() }));
  await expect.poll(() => installation.database.store.logs.findOne({ _id: 'req_booked' })).not.toBeNull();
  const reading = accounts.lock.run(() => orgWindow(installation.database.store, ORG, Date.now(), null));
  gate.resolve();
  const window = await reading;
  expect(window).toMatchObject({ ledger: 1_000n, logs: 1_000n, usage: 1_000n });
  expect(window && driftOf(window)).toBe(0n);
  over.abort();
  await booking;
  close();
  records.close();
}, 120_000);
