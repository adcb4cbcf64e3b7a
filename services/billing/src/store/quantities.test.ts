import { describe, expect, test } from 'vitest';
import { addQuantities, negateQuantities, readQuantities, storeQuantities } from './quantities.ts';

describe('quantities', () => {
  test('are stored as integers, so that ten tenths are one', () => {
    const sum = {};
    for (let i = 0; i < 10; i += 1) addQuantities(sum, storeQuantities({ seconds: 0.1 }));
    expect(sum).toEqual({ seconds: 1_000n });
    expect(readQuantities(sum)).toEqual({ seconds: 1 });
  });

  test('keep their names, including names with special characters of MongoDB', () => {
    const odd = { 'a.b': 1, $inc: 2, '': 3, '%2e': 4, 'a%': 5, input_tokens: 6 };
    const stored = storeQuantities(odd);
    expect(Object.keys(stored).join()).not.toMatch(/[.$]/);
    expect(readQuantities(stored)).toEqual(odd);
  });

  test('net to zero with their negatives, and zero is left out', () => {
    const stored = storeQuantities({ input_tokens: 7, output_tokens: 0 });
    addQuantities(stored, negateQuantities(stored));
    expect(readQuantities(stored)).toEqual({});
  });

  test.each([-1, 1e300, Number.NaN])('of %s cannot be booked', (quantity) => {
    expect(() => storeQuantities({ input_tokens: quantity })).toThrow(RangeError);
  });
});
