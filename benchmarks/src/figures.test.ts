import { expect, test } from 'vitest';
import { figuresOf, median, quantile, untilSteady } from './figures.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

test('a quantile is the value of the nearest rank', () => {
  expect(quantile(upTo(20), 0.95)).toBe(19);
  expect(quantile(upTo(100), 0.99)).toBe(99);
  expect(quantile(upTo(4), 0.5)).toBe(2);
  expect(quantile(upTo(3), 0.5)).toBe(2);
  expect(quantile([7], 0.99)).toBe(7);
  expect(quantile(upTo(3), 0)).toBe(1);
  expect(quantile([], 0.5)).toBeNaN();
});

test('a median is the middle value, or the mean of the two in the middle', () => {
  expect(median([1, 2])).toBe(1.5);
  expect(median([10, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([])).toBeNaN();
});

test('figures sort the times, and divide their count by the seconds', () => {
  expect(figuresOf(upTo(20).reverse(), 4)).toEqual({ p50: 10, p95: 19, p99: 20, count: 20, perSecond: 5 });
});

test('a measurement is repeated until two in a row agree, or its runs are used up', async () => {
  const values = [100, 150, 180, 190, 191];
  const measure = async () => values.shift() ?? Number.NaN;
  expect(await untilSteady(measure, { share: 0.06, runsMax: 10 })).toBe(true);
  expect(values).toEqual([191]);

  const rising = [1, 2, 4, 8];
  expect(await untilSteady(async () => rising.shift() ?? Number.NaN, { share: 0.06, runsMax: 3 })).toBe(
    false,
  );
  expect(rising).toEqual([8]);
});
