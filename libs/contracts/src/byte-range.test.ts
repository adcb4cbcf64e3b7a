import { expect, test } from 'vitest';
import { partOf } from './byte-range.ts';

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
  [null, null],
])('%j of 100 bytes is %j', (range, part) => {
  expect(partOf({ bytes: 100 }, { range, if_range: null })).toEqual(part);
});

test.each([
  [{ first: 100, last: null }, 100],
  [{ suffix: 0 }, 100],
  [{ first: 0, last: null }, 0],
  [{ suffix: 5 }, 0],
])('%j is outside %i bytes', (range, bytes) => {
  const outside = expect.objectContaining({ code: 'range_not_satisfiable', details: { bytes } });
  expect(() => partOf({ bytes }, { range, if_range: null })).toThrow(outside);
});

test('a range with another tag gets the whole content', () => {
  const range = { first: 0, last: 0 };
  expect(partOf({ bytes: 5, etag: '"a"' }, { range, if_range: '"a"' })).toEqual({ start: 0, end: 1 });
  expect(partOf({ bytes: 5, etag: '"a"' }, { range, if_range: '"b"' })).toBeNull();
});
