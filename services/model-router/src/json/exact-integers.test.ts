import { expect, test } from 'vitest';
import { parseExactly } from './exact-integers.ts';

test('integers above 2^53 keep their digits', () => {
  const text = '{"id":12345678901234567890,"list":[-9007199254740993,{"safe":9007199254740991}]}';
  expect(JSON.stringify(parseExactly(text))).toBe(text);
});

test('all other values are those of JSON.parse', () => {
  const text =
    '{"a":9007199254740991,"b":0.12345678901234567,"c":1e300,"d":"12345678901234567890","e":null,"f":[true]}';
  expect(parseExactly(text)).toEqual(JSON.parse(text));
  expect(() => parseExactly('{')).toThrow(SyntaxError);
});
