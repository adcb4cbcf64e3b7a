// JSON by and by. A megabyte of text with many characters that JSON escapes takes up to 0.1 s at once, in which a process
// answers nobody.

/** Characters of one string that are made into JSON at a time; no answer with a string of this length or less is cut. */
export const PIECE_LENGTH = 64 * 1024;

/** Whether it has a string, as one of its own members, that is made into JSON by and by. */
export function isLong(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return false;
  return Object.values(value).some((member) => typeof member === 'string' && member.length > PIECE_LENGTH);
}

/** What `JSON.stringify` makes of an object, in pieces of which the next is made when it is asked for. */
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

/** Between the quotes. A character of two units is not cut: each by itself would be escaped. */
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
