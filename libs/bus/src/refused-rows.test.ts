import { expect, test } from 'vitest';
import { REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX, RefusedRows } from './refused-rows.ts';

test('each key has its own allowance per minute, and dropped events are counted', () => {
  let now = 0;
  const rows = new RefusedRows(() => now);
  const taken = (keyId: string, times: number) =>
    Array.from({ length: times }, () => rows.take(keyId)).filter(Boolean).length;
  expect(taken('key_a', REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX + 7)).toBe(REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX);
  expect(taken('key_b', 3)).toBe(3);
  now = 59_999;
  expect(taken('key_a', 1)).toBe(0);
  now = 60_000;
  expect(taken('key_a', 2)).toBe(2);
  expect(rows.dropped).toBe(8);
});
