import { ServiceError } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Budget } from './budget.ts';
import {
  COMPUTER_MINUTES_MAX,
  HOLD_LEASE_MS,
  HOLD_WAIT_MS_MAX,
  HoldDesk,
  type Limit,
  SETTLED_MS_MAX,
  SWEEP_MS,
} from './hold-desk.ts';
import { ALL_OF_TIME, windowOf } from './windows.ts';

const ORG = 'org_a';
/** Each waiting call has a timer. */
let clock: FakeClock;
let desk: HoldDesk;

beforeEach(() => {
  clock = new FakeClock();
  desk = new HoldDesk(clock);
  desk.open();
});

function limitOf(limit: bigint, spent = 0n): Limit {
  const budget = new Budget({ limit, spent, windowAt: () => ALL_OF_TIME, now: clock.now() });
  return { budget, refusal: () => new ServiceError('budget_exceeded', 'over the budget') };
}

let calls = 0;
function ask(limits: Limit[], amount: bigint, exact = false, lasting = false) {
  const call = `req_${++calls}`;
  return {
    call,
    hold: desk.take({ call, org: ORG, limits, amount, exact, ...(lasting ? { computer: 'cmp_a' } : {}) }),
  };
}

/** Lets time pass with all its sweeps. */
function pass(ms: number): void {
  for (let left = ms; left > 0; left -= SWEEP_MS) {
    clock.advance(Math.min(left, SWEEP_MS));
    desk.sweep();
  }
}

async function refused(hold: Promise<unknown>): Promise<void> {
  await expect(hold).rejects.toMatchObject({ code: 'budget_exceeded' });
}

test('a desk that is closed refuses at once, also calls that come later', async () => {
  const limit = limitOf(100n);
  await ask([limit], 80n).hold;
  const waiting = ask([limit], 60n).hold;
  desk.close();
  const moving = { code: 'service_unavailable', retryAfterS: 1 };
  await expect(waiting).rejects.toMatchObject(moving);
  await expect(ask([limit], 1n).hold).rejects.toMatchObject(moving);
  expect(clock.waiting).toBe(0);
});

describe('a call', () => {
  test('that fits holds its amount in every limit that applies', async () => {
    const [org, key] = [limitOf(100n), limitOf(50n)];
    expect(await ask([org, key], 30n).hold).toEqual({ granted: 30n, capped: false });
    expect([org.budget.available, key.budget.available]).toEqual([70n, 20n]);
  });

  test('that holds again after a limit was removed leaves nothing held there', async () => {
    const [org, key] = [limitOf(100n), limitOf(50n)];
    const { call, hold } = ask([org, key], 30n);
    await hold;
    await desk.take({ call, org: ORG, limits: [org], amount: 40n, exact: false });
    expect([org.budget.available, key.budget.available]).toEqual([60n, 50n]);
    desk.settle(call, 10n);
    expect([org.budget.available, key.budget.available]).toEqual([90n, 50n]);
  });

  test('that does not fit beside other holds waits, and passes when they shrink', async () => {
    const limit = limitOf(100n);
    const first = ask([limit], 80n);
    const second = ask([limit], 60n);
    await first.hold;
    expect(clock.waiting).toBe(1);
    desk.settle(first.call, 40n);
    expect(await second.hold).toEqual({ granted: 60n, capped: false });
    expect(limit.budget.available).toBe(0n);
  });

  test('that is alone is capped to what is left; one with an exact price is refused', async () => {
    const limit = limitOf(100n, 75n);
    await refused(ask([limit], 30n, true).hold);
    expect(await ask([limit], 30n).hold).toEqual({ granted: 25n, capped: true });
  });

  test('is refused at once when nothing is left and nothing is held', async () => {
    await refused(ask([limitOf(100n, 100n)], 1n).hold);
    await refused(ask([limitOf(1_000n), limitOf(100n, 101n)], 1n).hold);
  });

  test('is refused after its maximum wait, and holds nothing', async () => {
    const limit = limitOf(100n);
    const first = ask([limit], 100n);
    await first.hold;
    const second = ask([limit], 10n);
    clock.advance(HOLD_WAIT_MS_MAX);
    await refused(second.hold);
    desk.settle(first.call, 0n);
    expect(limit.budget.available).toBe(100n);
    expect(clock.waiting).toBe(0);
  });

  test('that is cancelled while it waits leaves the queue', async () => {
    const limit = limitOf(100n);
    const first = ask([limit], 100n);
    await first.hold;
    const gone = new AbortController();
    const second = desk.take(
      { call: 'req_gone', org: ORG, limits: [limit], amount: 10n, exact: false },
      gone.signal,
    );
    gone.abort();
    await expect(second).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(clock.waiting).toBe(0);
  });

  test('that was cancelled before it holds anything holds nothing', async () => {
    const limit = limitOf(100n);
    const call = { call: 'req_gone', org: ORG, limits: [limit], amount: 10n, exact: false };
    await expect(desk.take(call, AbortSignal.abort())).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(limit.budget.available).toBe(100n);
  });

  test('may raise its own hold while it runs', async () => {
    const limit = limitOf(100n);
    const { call, hold } = ask([limit], 60n);
    await hold;
    expect(await desk.take({ call, org: ORG, limits: [limit], amount: 90n, exact: false })).toMatchObject({
      granted: 90n,
    });
    expect([limit.budget.available, limit.budget.held]).toEqual([10n, 90n]);
  });

  test('that is small does not wait behind a large one that does not fit', async () => {
    const limit = limitOf(100n);
    const first = ask([limit], 90n);
    await first.hold;
    const large = ask([limit], 100n);
    const small = ask([limit], 10n);
    expect(await small.hold).toMatchObject({ granted: 10n });
    desk.settle(first.call, 0n);
    desk.settle(small.call, 0n);
    expect(await large.hold).toMatchObject({ granted: 100n });
  });
});

describe('a hold that lasts', () => {
  test('makes no call wait: a call that does not fit beside it is refused or capped at once', async () => {
    const limit = limitOf(100n);
    await ask([limit], 70n, true, true).hold;
    await refused(ask([limit], 40n, true).hold);
    expect(await ask([limit], 40n).hold).toEqual({ granted: 30n, capped: true });
    expect(clock.waiting).toBe(0);
  });

  test('itself waits for holds that may still shrink', async () => {
    const limit = limitOf(100n);
    const call = ask([limit], 90n);
    await call.hold;
    const minute = ask([limit], 20n, true, true);
    expect(clock.waiting).toBe(1);
    desk.settle(call.call, 30n);
    expect(await minute.hold).toEqual({ granted: 20n, capped: false });
  });
});

describe('a settled cost', () => {
  test('counts once, whether it is booked before or after the settlement', () => {
    const limit = limitOf(100n);
    for (const bookedFirst of [true, false]) {
      const { call } = ask([limit], 20n);
      const book = () => {
        limit.budget.booked(call, 10n, clock.now());
        desk.booked(call, ORG);
      };
      if (bookedFirst) book();
      desk.settle(call, 10n);
      if (!bookedFirst) book();
    }
    expect(limit.budget.available).toBe(80n);
    expect(limit.budget.held).toBe(0n);
  });

  test('that is not booked in time counts until it is booked or dropped', () => {
    const limit = limitOf(100n);
    const [late, lost] = [ask([limit], 20n).call, ask([limit], 30n).call];
    for (const call of [late, lost]) desk.settle(call, 20n);
    expect(desk.overdue).toEqual([]);
    clock.advance(SETTLED_MS_MAX + 1);
    const { overdue } = desk;
    expect(overdue).toEqual([late, lost]);
    expect(limit.budget.available).toBe(60n);
    limit.budget.booked(late, 20n, clock.now());
    desk.booked(late, ORG);
    expect(desk.drop(overdue)).toEqual([lost]);
    expect([limit.budget.available, desk.overdue]).toEqual([80n, []]);
  });

  test('that is overdue takes no place among its computer’s minutes', async () => {
    const limit = limitOf(10_000n);
    const minute = (index: number) => ({
      ...{
        call: `cmp_a:run:${index}`,
        org: ORG,
        limits: [limit],
        amount: 1n,
        exact: true,
        computer: 'cmp_a',
      },
    });
    for (let index = 0; index < COMPUTER_MINUTES_MAX; index += 1) {
      await desk.take(minute(index));
      desk.settle(minute(index).call, 1n);
    }
    await expect(desk.take(minute(100))).rejects.toMatchObject({ code: 'service_unavailable' });
    clock.advance(SETTLED_MS_MAX + 1);
    expect(await desk.take(minute(100))).toMatchObject({ granted: 1n });
  });
});

test('a hold without renewal expires and admits waiting calls; a renewed hold stays', async () => {
  const limit = limitOf(100n);
  const lost = ask([limit], 50n);
  const kept = ask([limit], 50n);
  await Promise.all([lost.hold, kept.hold]);
  pass(HOLD_LEASE_MS - 1);
  desk.renew({ call: kept.call, org: ORG, limits: [limit], amount: 50n, exact: false });
  const waiting = ask([limit], 40n);
  clock.advance(2);
  expect(desk.sweep()).toEqual([lost.call]);
  expect(await waiting.hold).toMatchObject({ granted: 40n });
});

test('a pause of billing ends no hold: renewals that arrived meanwhile are not read yet', () => {
  const limit = limitOf(100n);
  const { call } = ask([limit], 50n);
  pass(1);
  clock.advance(HOLD_LEASE_MS + 1);
  expect(desk.sweep()).toEqual([]);
  pass(HOLD_LEASE_MS - SWEEP_MS - 1); // the second before the pause counts
  expect(limit.budget.held).toBe(50n);
  clock.advance(1);
  expect(desk.sweep()).toEqual([call]);
});

test('a new owner grants nothing before it opens, and knows all holds by then', async () => {
  const limit = limitOf(100n);
  desk = new HoldDesk(clock);
  const first = ask([limit], 30n);
  desk.renew({ call: 'req_of_before', org: ORG, limits: [limit], amount: 80n, exact: false });
  expect(clock.waiting).toBe(1);
  desk.open();
  expect(clock.waiting).toBe(1);
  desk.settle('req_of_before', 60n);
  expect(await first.hold).toMatchObject({ granted: 30n });
});

test('random requests in random order: holds and spending stay within the limit, and calls that fit pass', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ amount: fc.bigInt(1n, 40n), share: fc.integer({ min: 0, max: 100 }) }), {
        minLength: 1,
        maxLength: 40,
      }),
      fc.bigInt(1n, 300n),
      async (wishes, limitNano) => {
        desk = new HoldDesk(clock);
        desk.open();
        const limit = limitOf(limitNano);
        let spent = 0n;
        const over: Promise<void>[] = [];
        for (const { amount, share } of wishes) {
          const { call, hold } = ask([limit], amount);
          over.push(
            hold.then(
              ({ granted }) => {
                expect(limit.budget.available).toBeGreaterThanOrEqual(0n);
                const cost = (granted * BigInt(share)) / 100n;
                spent += cost;
                desk.settle(call, cost);
              },
              (error: ServiceError) => expect(error.code).toBe('budget_exceeded'),
            ),
          );
        }
        await Promise.all(over); // every wait ends: each finished call admits or refuses the next one
        expect(spent).toBeLessThanOrEqual(limitNano);
        expect([limit.budget.spent, limit.budget.held, clock.waiting]).toEqual([spent, 0n, 0]);
      },
    ),
  );
});

test.each([
  ['day', '2026-11-21T13:00:00Z', '2026-11-21', '2026-11-22'],
  ['week', '2026-11-22T23:59:59Z', '2026-11-16', '2026-11-23'],
  ['week', '2026-11-23T00:00:00Z', '2026-11-23', '2026-11-30'],
  ['month', '2026-12-31T23:59:59Z', '2026-12-01', '2027-01-01'],
] as const)('the %s of %s is from %s to %s', (interval, time, start, end) => {
  expect(windowOf(interval, Date.parse(time))).toEqual({ start: Date.parse(start), end: Date.parse(end) });
});

test('a new window begins with no spending, and ignores late events of the previous one', () => {
  const day = 86_400_000;
  const now = Date.parse('2026-11-21T23:00:00Z');
  const budget = new Budget({ limit: 10n, spent: 9n, windowAt: (at) => windowOf('day', at), now });
  budget.hold('req_over_midnight', 1n);
  budget.pass(now + 2 * 3_600_000);
  expect([budget.spent, budget.available]).toEqual([0n, 9n]);
  budget.booked('evt_late', 5n, now);
  expect(budget.spent).toBe(0n);
  budget.booked('evt_new', 5n, now + day);
  expect(budget.spent).toBe(5n);
});

test('an event from the future starts no window, and counts in its own window later', () => {
  const day = 86_400_000;
  const now = Date.parse('2026-11-21T23:00:00Z');
  const budget = new Budget({ limit: 10n, spent: 9n, windowAt: (at) => windowOf('day', at), now });
  budget.booked('evt_tomorrow', 5n, now + day);
  budget.booked('evt_today', 1n, now);
  budget.pass(now);
  expect([budget.spent, budget.available]).toEqual([10n, 0n]);
  budget.pass(now + 2 * 3_600_000);
  expect(budget.spent).toBe(5n);
  budget.pass(now + 2 * day);
  expect(budget.spent).toBe(0n);
});
