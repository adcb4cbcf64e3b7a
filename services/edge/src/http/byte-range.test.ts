import { expect, test } from 'vitest';
import { readByteRange } from './byte-range.ts';

test.each([
  ['bytes=0-99', { first: 0, last: 99 }],
  ['bytes=5-', { first: 5, last: null }],
  ['bytes=-7', { suffix: 7 }],
  ['bytes=9-5', null],
  ['bytes=0-1,5-6', null],
  ['bytes=0x1-2', null],
  ['lines=1-2', null],
  ['bytes=-', null],
  [undefined, null],
])('Range %s is read as %o', (header, range) => {
  expect(readByteRange(header)).toEqual(range);
});
