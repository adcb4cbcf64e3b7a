import { expect, test } from 'vitest';
import { resolveRange } from './byte-range.ts';

test.each([
  [
    { first: 0, last: 0 },
    { start: 0, end: 1 },
  ],
  [
    { first: 5, last: null },
    { start: 5, end: 100 },
  ],
  [
    { first: 90, last: 1000 },
    { start: 90, end: 100 },
  ],
  [{ suffix: 10 }, { start: 90, end: 100 }],
  [{ suffix: 1000 }, { start: 0, end: 100 }],
  [{ first: 100, last: null }, null],
  [{ suffix: 0 }, null],
])('%j of 100 bytes is %j', (asked, range) => {
  expect(resolveRange(asked, 100)).toEqual(range);
});

test('no range is inside an empty file', () => {
  expect(resolveRange({ first: 0, last: null }, 0)).toBeNull();
  expect(resolveRange({ suffix: 5 }, 0)).toBeNull();
});
