import { expect, test } from 'vitest';
import { bytes } from './show.tsx';

test.each([
  [0, '0 B'],
  [0.139, '0 B'],
  [999, '999 B'],
  [1_500, '1.5 kB'],
  [250_000_000, '250 MB'],
])('%d bytes are shown as %s', (count, shown) => {
  expect(bytes(count)).toBe(shown);
});
