import { expect, test } from 'vitest';
import { bytes, dollars } from './show.tsx';

test.each([
  [0, '0 B'],
  [0.139, '0 B'],
  [999, '999 B'],
  [1_500, '1.5 kB'],
  [250_000_000, '250 MB'],
])('%d bytes are shown as %s', (count, shown) => {
  expect(bytes(count)).toBe(shown);
});

test.each([
  [0, '$0.00'],
  [0.1, '$0.10'],
  [0.1 + 0.2, '$0.30'],
  [12.000000001, '$12.000000001'],
  [0.001234567, '$0.001234567'],
  [1_234.5, '$1234.50'],
  [9_000_000.3, '$9000000.30'],
  [-0.0005, '−$0.0005'],
])('%d dollars are shown as %s, exactly', (amount, shown) => {
  expect(dollars(amount)).toBe(shown);
});
