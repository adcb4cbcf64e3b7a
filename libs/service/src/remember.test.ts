import { expect, test } from 'vitest';
import { remember } from './remember.ts';

test('beyond its size a map drops the entries set longest ago, however often they were set before', () => {
  const map = new Map<string, number>();
  for (const [index, key] of ['a', 'b', 'a', 'c'].entries()) remember(map, key, index, 2);
  expect([...map]).toEqual([
    ['a', 2],
    ['c', 3],
  ]);
});

test('a map that is too large is cut to its size', () => {
  const map = new Map([1, 2, 3, 4].map((n) => [n, n]));
  remember(map, 5, 5, 2);
  expect([...map.keys()]).toEqual([4, 5]);
});
