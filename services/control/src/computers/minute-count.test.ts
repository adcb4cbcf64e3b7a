import { type ComputerMinutes, MINUTE_MS } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { isPossible, withMinute } from './minute-count.ts';

const NONE: ComputerMinutes = { runs: {}, earlier: { runs: 0, minutes: 0, last: 0 } };
const HOUR_MS = 60 * MINUTE_MS;
/** Minutes that clocks may differ by. */
const SLACK = 2;

/** Charges minutes in turn until one is impossible. @returns how many were possible */
function charged(ageMs: number, minutes: Iterable<{ run: number; minute: number }>): number {
  let counted = NONE;
  let count = 0;
  for (const minute of minutes) {
    const after = withMinute(counted, minute);
    if (!after || !isPossible(after, minute.run, ageMs)) break;
    counted = after;
    count += 1;
  }
  return count;
}

function* minutesOf(runs: number, each: number) {
  for (let run = 1; run <= runs; run++) for (let minute = 0; minute < each; minute++) yield { run, minute };
}

test('one run has the minutes of its computer and the one that it has begun', () => {
  expect(charged(HOUR_MS, minutesOf(1, 1_000_000))).toBe(60 + 1 + SLACK);
  const all = withMinute(NONE, { run: 1, minute: 999_999 });
  expect(all && isPossible(all, 1, HOUR_MS)).toBe(false);
});

test('several runs share the minutes of their computer, and have one more each', () => {
  const runs = 30;
  expect(charged(HOUR_MS, minutesOf(runs, 4))).toBeLessThanOrEqual(60 + runs + SLACK);
  expect(charged(HOUR_MS, minutesOf(runs, 3))).toBe(runs * 3);
});

test('a hundred short runs at once are possible, and ten thousand in an hour are not', () => {
  expect(charged(0, minutesOf(100, 1))).toBe(100);
  expect(charged(HOUR_MS, minutesOf(10_000, 1))).toBe(100 + 360 + 12);
});

test('a skipped run number allows no more minutes', () => {
  const counted = withMinute(NONE, { run: 90, minute: 63 });
  expect(counted && isPossible(counted, 90, HOUR_MS)).toBe(false);
});

test('a repeated minute, or an earlier one of the same run, changes nothing', () => {
  const counted = withMinute(NONE, { run: 1, minute: 5 });
  if (!counted) throw new Error('the minute is counted');
  expect(withMinute(counted, { run: 1, minute: 5 })).toBe(counted);
  expect(withMinute(counted, { run: 1, minute: 3 })).toBe(counted);
});

test('the sums of earlier runs are kept when their minutes are no longer counted one by one', () => {
  let counted = NONE;
  for (const minute of minutesOf(25, 2)) counted = withMinute(counted, minute) ?? counted;
  expect(Object.keys(counted.runs)).toHaveLength(20);
  expect(counted.earlier).toEqual({ runs: 5, minutes: 10, last: 5 });
  expect(withMinute(counted, { run: 5, minute: 9 })).toBeNull();
});
