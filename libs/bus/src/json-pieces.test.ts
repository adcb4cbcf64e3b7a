import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLong, jsonPieces, PIECE_LENGTH } from './json-pieces.ts';

const joined = (value: Record<string, unknown>) => [...jsonPieces(value)].join('');

/** Text longer than a piece, with any code units around the cuts. */
const longText = fc
  .tuple(
    fc.integer({ min: PIECE_LENGTH - 3, max: PIECE_LENGTH + 3 }),
    fc.string({ unit: 'binary', minLength: 4, maxLength: 40 }),
    fc.integer({ min: 1, max: 3 }),
  )
  .map(([length, odd, times]) => ('x'.repeat(length) + odd).repeat(times));

test('the joined pieces equal the output of JSON.stringify', () => {
  const member = fc.oneof(longText, fc.string({ unit: 'binary' }), fc.jsonValue(), fc.constant(undefined));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), member, { noNullPrototype: true }), (value) => {
      expect(joined(value)).toBe(JSON.stringify(value));
    }),
    { numRuns: 300 },
  );
});

test('lone surrogates on both sides of a cut are escaped as by JSON.stringify', () => {
  for (const odd of ['\ud800', '\udc00', '\ud83d\ude00', '\ude00\ud83d', '\ud800\ud800'])
    for (const shift of [0, 1, 2]) {
      const value = { a: 1, text: 'x'.repeat(PIECE_LENGTH - shift) + odd.repeat(3), none: undefined };
      expect(joined(value)).toBe(JSON.stringify(value));
    }
});

test('no piece covers more text than its length', () => {
  const longest = Math.max(...[...jsonPieces({ text: 'x'.repeat(1_000_000) })].map(({ length }) => length));
  expect(longest).toBeLessThanOrEqual(PIECE_LENGTH + 1);
});

test('an object is long when it has a long string of its own', () => {
  const text = 'x'.repeat(PIECE_LENGTH + 1);
  expect([{ text }, { text: 'short' }, [text], text, null, { deep: { text } }].map(isLong)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});
