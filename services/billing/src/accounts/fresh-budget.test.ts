// A budget that is first used while the sums miss rows of the ledger is read once the sums are complete.
import { openBucket } from '@switchyard/bus';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startBooking } from '../fixtures/booking.ts';
import { completed, credited, ORG, TIME } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import type { Store } from '../store/store.ts';

const PREPAID = orgRecord(ORG, { billing: 'prepaid', monthly_limit: null }, TIME);
let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
}, 60_000);

afterAll(() => installation?.stop());

/** A store whose sums cannot be written while `isAway` returns true. Calls `onTried` on each attempt. */
function storeWithoutSums(isAway: () => boolean, onTried: () => void): Store {
  const { days } = installation.database.store.aggregates;
  const silent = new Proxy(days, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'bulkWrite') return value;
      return async (...args: Parameters<typeof days.bulkWrite>) => {
        if (!isAway()) return target.bulkWrite(...args);
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
  let away = true;
  const cut = Promise.withResolvers<void>();
  const store = storeWithoutSums(() => away, cut.resolve);
  const { client } = installation;
  await (await openBucket(client.bus, 'orgs')).put(ORG, PREPAID);
  await client.publish(credited('cred_1', 100n), completed('req_cut', 60n));
  const booking = await startBooking({ bus: client.bus, store });
  const { accounts } = booking;
  await cut.promise;

  const asked = accounts.limitsOf(ORG, 'key_1');
  await expect(asked, 'for as long as the sums are not whole').rejects.toMatchObject({
    ...{ code: 'service_unavailable', retryAfterS: 1 },
  });
  away = false;
  const [limit] = await vi.waitFor(() => accounts.limitsOf(ORG, 'key_1'), { timeout: 60_000 });
  expect(limit?.budget).toMatchObject({ limit: 100n, spent: 60n, available: 40n });

  await booking.stop();
}, 120_000);
