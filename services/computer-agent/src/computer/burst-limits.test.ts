// How far those who compute may burst beside others, on a host of two cores.
import { expect, test } from 'vitest';
import { BurstLimits, LIMIT_MIN, RESERVE_CORES_MAX, RESERVE_SHARE } from './burst-limits.ts';

const CORES = 2;
const TURN_MS = 50;
const RESERVE = CORES * RESERVE_SHARE;

/** Turns of 50 ms, with cores that are used by those who compute, and by all else. */
function turns(limits: BurstLimits, count: number, use: { computing: number; others: number }) {
  const { computing, others } = use;
  for (let turn = 0; turn < count; turn++)
    limits.look({
      elapsedMs: TURN_MS,
      idleMs: Math.max(0, CORES - computing - others) * TURN_MS,
      computingMs: computing * TURN_MS,
    });
}

test('those who compute leave others what these use and the reserve, and share the rest by size', () => {
  const limits = new BurstLimits(CORES);
  turns(limits, 100, { computing: 1.5, others: 0.5 });
  const [small, large] = limits.limits([0.05, 0.15], 0.2) as [number, number];
  expect(small + large).toBeCloseTo(CORES - 0.5 - RESERVE);
  expect(large / small).toBeCloseTo(3);
});

test('the first look says as much as many', () => {
  const [limits, later] = [new BurstLimits(CORES), new BurstLimits(CORES)];
  turns(limits, 1, { computing: 0.5, others: 0.7 });
  turns(later, 100, { computing: 0.5, others: 0.7 });
  expect(limits.limits([0.1], 0.1)[0]).toBeCloseTo(later.limits([0.1], 0.1)[0]!);
});

test('what they use themselves changes nothing about it: a limit does not swing', () => {
  const limits = new BurstLimits(CORES);
  turns(limits, 100, { computing: 1.5, others: 0.2 });
  const busy = limits.limits([0.1], 0.1);
  turns(limits, 100, { computing: 0.1, others: 0.2 });
  expect(limits.limits([0.1], 0.1)[0]).toBeCloseTo(busy[0]!);
});

test('nobody gets less than is guaranteed, which is smaller where more is promised than there is', () => {
  const limits = new BurstLimits(CORES);
  turns(limits, 100, { computing: 0, others: 2 });
  expect(limits.limits([0.5, 1], 2)).toEqual([0.5, 1]);
  expect(limits.limits([0.5, 1], 8)).toEqual([0.125, 0.25]);
  expect(limits.limits([0.5, 1], 800)).toEqual([LIMIT_MIN, LIMIT_MIN]);
});

test('a large host keeps no more cores free than a few', () => {
  const limits = new BurstLimits(64);
  limits.look({ elapsedMs: TURN_MS, idleMs: 64 * TURN_MS, computingMs: 0 });
  expect(limits.limits([1], 1)).toEqual([64 - RESERVE_CORES_MAX]);
});
