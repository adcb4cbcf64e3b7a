// The local models' tokenizer: what they count and charge by. It is ours, small and deterministic: a run of letters
// and digits is cut into pieces of at most 4 characters, every ASCII punctuation mark is a token of its own, and white
// space belongs to the token after it. "Hello, world!" is `Hell` `o` `,` ` worl` `d` `!`: 6 tokens. Everything beyond
// ASCII that is not white space counts as a letter. It reads code units one by one, so a body of 20 MB takes no regexp.

/** UTF-16 units in one piece of a word. */
const PIECE_LENGTH_MAX = 4;

export function countTokens(text: string): number {
  let count = 0;
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, pieceEnd(text, at))) count += 1;
  return count;
}

/** The first `limit` tokens of a text, without white space at the cut. */
export function firstTokens(text: string, limit: number): string {
  let end = 0;
  for (let taken = 0; taken < limit; taken += 1) {
    const start = skipSpace(text, end);
    if (start >= text.length) return text;
    end = pieceEnd(text, start);
  }
  return skipSpace(text, end) >= text.length ? text : text.slice(0, end);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** Where the token that starts at `from` ends; `from` is no white space. */
function pieceEnd(text: string, from: number): number {
  if (!isWordPart(text.charCodeAt(from))) return from + 1;
  let at = from + 1;
  while (at < text.length && at - from < PIECE_LENGTH_MAX && isWordPart(text.charCodeAt(at))) at += 1;
  // Never between the two halves of a character.
  return isHighSurrogate(text.charCodeAt(at - 1)) && at < text.length ? at + 1 : at;
}

/** White space beyond ASCII and U+2000 to U+200A, as ECMAScript has it. */
const RARE_SPACES = [0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff];

function isSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  return (unit >= 0x2000 && unit <= 0x200a) || RARE_SPACES.includes(unit);
}

function isWordPart(unit: number): boolean {
  if (unit >= 0x80) return !isSpace(unit);
  return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
