// Serializes JSON in pieces. A megabyte of text with many escaped characters takes up to 0.1 s in one go, which blocks
// the event loop.

/** Characters of one string serialized at a time. Answers whose strings are at most this long are not split. */
export const PIECE_LENGTH = 64 * 1024;

/** True when one of its own members is a string that must be serialized in pieces. */
export function isLong(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return false;
  return Object.values(value).some((member) => typeof member === 'string' && member.length > PIECE_LENGTH);
}

/** The output of `JSON.stringify` for an object, in pieces made on demand. */
export function* jsonPieces(value: Record<string, unknown>): Generator<string> {
  let before = '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    before += `${JSON.stringify(name)}:`;
    if (typeof member !== 'string' || member.length <= PIECE_LENGTH) before += JSON.stringify(member);
    else {
      yield `${before}"`;
      yield* escapedPieces(member);
      before = '"';
    }
    before += ',';
  }
  yield `${before.endsWith(',') ? before.slice(0, -1) : before}}`;
}

/** The text between the quotes. Surrogate pairs are not split: each half alone would be escaped. */
function* escapedPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + PIECE_LENGTH);
    if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
