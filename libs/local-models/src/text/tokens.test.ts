import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countTokens, firstTokens } from './tokens.ts';

/** The tokens one by one, as the cuts between them show. A blank text is one piece without a token. */
function tokens(text: string): string[] {
  const cuts = Array.from({ length: countTokens(text) }, (_, index) => firstTokens(text, index + 1));
  if (cuts.length === 0) return text === '' ? [] : [text];
  return cuts.map((cut, index) => cut.slice(cuts[index - 1]?.length ?? 0));
}

describe('tokens', () => {
  it('cuts words into pieces of at most four characters and takes marks one by one', () => {
    expect(tokens('Hello, world!')).toEqual(['Hell', 'o', ',', ' worl', 'd', '!']);
    expect(countTokens('Hello, world!')).toBe(6);
  });

  it('counts nothing in white space', () => {
    expect(countTokens(' \n\t \u1680\u202f\u205f\ufeff')).toBe(0);
    expect(countTokens('')).toBe(0);
  });

  it('never cuts a character in two', () => {
    expect(tokens('ab😀😀😀')).toEqual(['ab😀', '😀😀']);
    expect(tokens('abc😀x')).toEqual(['abc😀', 'x']);
  });

  it('gives the text back when the tokens are joined, and counts as many as it gives', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const pieces = tokens(text);
        expect(pieces.join('')).toBe(text);
        expect(pieces.filter((piece) => piece.trim() !== '')).toHaveLength(countTokens(text));
      }),
    );
  });

  it('cuts after the first tokens, at a count that holds', () => {
    expect(firstTokens('Hello, world!', 3)).toBe('Hello,');
    expect(firstTokens('Hello', 99)).toBe('Hello');
    fc.assert(
      fc.property(fc.lorem(), fc.nat(30), (text, limit) => {
        expect(countTokens(firstTokens(text, limit))).toBe(Math.min(limit, countTokens(text)));
      }),
    );
  });
});
