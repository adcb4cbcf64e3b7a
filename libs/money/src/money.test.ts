import { describe, expect, test } from 'vitest';
import { charge, dollarsToJson, formatDollars, parseDollars } from './index.ts';

describe('charge', () => {
  test('is the exact sum of the lines, rounded once and not per line', () => {
    // 1 x 0.0000000004 + 1 x 0.0000000002 = 0.6 nano-dollars -> 1; rounded per line it would be 0.
    expect(
      charge([
        { unit: 'input_token', quantity: 1, rate: '0.0000000004' },
        { unit: 'output_token', quantity: 1, rate: '0.0000000002' },
      ]),
    ).toBe(1n);
  });

  test('has no floating point in it: a million tokens at 0.1 nano-dollars is exact', () => {
    expect(charge([{ unit: 'input_token', quantity: 1_000_001, rate: '0.0000000001' }])).toBe(100_000n);
    expect(charge([{ unit: 'input_token', quantity: 9_007_199_254_740_991, rate: '0.000001' }])).toBe(
      9_007_199_254_740_991_000n,
    );
  });

  test('divides seconds of a rate per minute without losing a third', () => {
    expect(charge([{ unit: 'minute', quantity: '10', rate: '0.006', per: 60 }])).toBe(1_000_000n);
    expect(charge([{ unit: 'minute', quantity: '1', rate: '0.000000001', per: 60 }])).toBe(0n);
    expect(charge([{ unit: 'minute', quantity: '40', rate: '0.000000001', per: 60 }])).toBe(1n);
  });

  test('refuses all but non-negative plain decimals', () => {
    expect(() => charge([{ unit: 'x', quantity: -1, rate: '1' }])).toThrow(RangeError);
    expect(() => charge([{ unit: 'x', quantity: 1, rate: '-1' }])).toThrow(RangeError);
    expect(() => charge([{ unit: 'x', quantity: 1, rate: '1e-9' }])).toThrow(RangeError);
    expect(() => charge([{ unit: 'x', quantity: Number.NaN, rate: '1' }])).toThrow(RangeError);
  });
});

describe('dollars', () => {
  test.each([
    [0n, '0'],
    [1n, '0.000000001'],
    [12_500n, '0.0000125'],
    [1_000_000_000n, '1'],
    [-1_500_000_000n, '-1.5'],
  ])('%d nano-dollars are written %s, and read back to the same', (nanos, text) => {
    expect(formatDollars(nanos)).toBe(text);
    expect(parseDollars(text)).toBe(nanos);
    expect(parseDollars(dollarsToJson(nanos))).toBe(nanos);
  });

  test('a JSON number carries every nano-dollar below a million dollars', () => {
    for (const nanos of [999_999_999_999_999n, 123_456_789_123_456n, 7n, 10n, 100_000_000_000_001n])
      expect(parseDollars(JSON.parse(JSON.stringify(dollarsToJson(nanos))) as number)).toBe(nanos);
  });

  test('more than nine decimals are refused, not silently rounded', () => {
    expect(() => parseDollars('0.0000000001')).toThrow(RangeError);
    expect(() => parseDollars(1e-10)).toThrow(RangeError);
  });
});
