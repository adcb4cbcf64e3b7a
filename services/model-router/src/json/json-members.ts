// Finds the top-level members of a JSON object in bytes without parsing their values, so that bodies pass through as
// bytes and only changed parts are spliced. Native code skips strings: a 20 MB image costs no more than its copy.

import { isExactInteger } from './exact-integers.ts';

/** Position of a member: `[keyStart, valueEnd)` includes its key, `[valueStart, valueEnd)` is the value alone. */
export interface Member {
  keyStart: number;
  valueStart: number;
  valueEnd: number;
  /** The key occurs more than once; a reader that takes the first value would differ from ours. */
  repeated: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * The members of the object in `bytes[start..]`, by key (the last of repeated keys wins, as in JSON.parse).
 * @throws SyntaxError when the bytes are not a complete object.
 */
export function topLevelMembers(bytes: Buffer, start = 0): Map<string, Member> {
  const members = new Map<string, Member>();
  let at = skipBlanks(bytes, start);
  if (bytes[at] !== OPEN_BRACE) throw new SyntaxError('not a JSON object');
  at = skipBlanks(bytes, at + 1);
  if (bytes[at] === CLOSE_BRACE) return members;
  for (;;) {
    const keyStart = at;
    if (bytes[at] !== QUOTE) throw new SyntaxError(`a member's name was expected at byte ${at}`);
    at = skipString(bytes, at);
    const key = JSON.parse(bytes.toString('utf8', keyStart, at)) as string;
    at = skipBlanks(bytes, at);
    if (bytes[at] !== COLON) throw new SyntaxError(`a colon was expected at byte ${at}`);
    const valueStart = skipBlanks(bytes, at + 1);
    const valueEnd = skipValue(bytes, valueStart);
    members.set(key, { keyStart, valueStart, valueEnd, repeated: members.has(key) });
    at = skipBlanks(bytes, valueEnd);
    if (bytes[at] === CLOSE_BRACE) return members;
    if (bytes[at] !== COMMA) throw new SyntaxError(`a comma or the end was expected at byte ${at}`);
    at = skipBlanks(bytes, at + 1);
  }
}

/** Number of elements of a member; 1 when it is not a list. */
export function countElements(bytes: Buffer, { valueStart, valueEnd }: Member): number {
  if (bytes[valueStart] !== OPEN_BRACKET) return 1;
  const end = valueEnd - 1;
  let count = 0;
  for (let at = skipBlanks(bytes, valueStart + 1); at < end; at = skipBlanks(bytes, at)) {
    at = skipValue(bytes, at);
    count += 1;
    at = skipBlanks(bytes, at);
    if (bytes[at] === COMMA) at += 1;
  }
  return count;
}

/** Whether a member is a list whose first element is a number. */
export function isListOfNumbers(bytes: Buffer, { valueStart }: Member): boolean {
  const first = bytes[skipBlanks(bytes, valueStart + 1)] ?? 0;
  return bytes[valueStart] === OPEN_BRACKET && (first === MINUS || (first >= ZERO && first <= NINE));
}

/** @throws SyntaxError */
export function parseMember(bytes: Buffer, { valueStart, valueEnd }: Member): unknown {
  return JSON.parse(bytes.toString('utf8', valueStart, valueEnd));
}

/**
 * Whether any object in the bytes has a member twice: a reader that takes the first value would differ from JSON.parse.
 * @param parsed the same JSON, parsed
 */
export function repeatsMembers(bytes: Buffer, parsed: unknown): boolean {
  let colons = 0;
  for (let at = 0; at < bytes.length; )
    if (bytes[at] === QUOTE) at = skipString(bytes, at);
    else if (bytes[at++] === COLON) colons += 1;
  return colons !== membersWithin(parsed);
}

function membersWithin(value: unknown): number {
  if (typeof value !== 'object' || value === null || isExactInteger(value)) return 0;
  const values = Object.values(value);
  const own = Array.isArray(value) ? 0 : values.length;
  return values.reduce((sum: number, one) => sum + membersWithin(one), own);
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (isBlank(bytes[at])) at += 1;
  return at;
}

export function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/**
 * Skips from an opening quote to behind the closing one: a native search, byte by byte if the string has escaped
 * quotes.
 */
function skipString(bytes: Buffer, opening: number): number {
  const quote = bytes.indexOf(QUOTE, opening + 1);
  if (quote < 0) throw new SyntaxError('a string is cut short');
  if (bytes[quote - 1] !== BACKSLASH) return quote + 1;
  let at = opening + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  if (at >= bytes.length) throw new SyntaxError('a string is cut short');
  return at + 1;
}

function skipValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return skipString(bytes, start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return skipPrimitive(bytes, start);
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      continue;
    }
    at += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new SyntaxError('an object or a list is cut short');
}

function skipPrimitive(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at] as number;
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20) break;
    at += 1;
  }
  if (at === start || at === bytes.length) throw new SyntaxError(`a value was expected at byte ${start}`);
  return at;
}
