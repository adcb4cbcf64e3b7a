import { expect, test } from 'vitest';
import { nextTryMs, OVER_A_DAY } from './retry-schedule.ts';

const HOUR_MS = 3_600_000;

test('an event is retried at growing intervals over a day, and then given up', () => {
  const tries: number[] = [];
  let age = 0;
  for (;;) {
    const wait = nextTryMs(OVER_A_DAY, age, () => 0);
    if (wait === null) break;
    age += wait;
    tries.push(age);
  }
  expect(tries).toEqual(OVER_A_DAY.agesMs);
  expect(age).toBe(24 * HOUR_MS);
  expect(tries[0]).toBe(5_000);
});

test('a wait is up to a tenth longer', () => {
  expect(nextTryMs(OVER_A_DAY, 0, () => 1)).toBe(5_500);
});

test('an event whose attempts were missed continues at its age in the schedule', () => {
  expect(nextTryMs(OVER_A_DAY, 5 * HOUR_MS, () => 0)).toBe(3 * HOUR_MS);
  expect(nextTryMs(OVER_A_DAY, 30 * HOUR_MS, () => 0)).toBeNull();
});
