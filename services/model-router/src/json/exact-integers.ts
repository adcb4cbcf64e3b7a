// Parses JSON so that it can be written again with the same integers. Ids in the arguments of tools may exceed 2^53, above
// which JavaScript numbers lose digits.

/** ES2026; TypeScript does not declare it yet. */
interface RawJson {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
}
const json = JSON as unknown as RawJson;

/** A text without so many digits in a row has no such integer, and is parsed faster. */
export function hasManyDigits(text: string): boolean {
  return /\d{16}/.test(text);
}

/**
 * As JSON.parse, but an integer above 2^53 becomes an object that JSON.stringify writes as those digits.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  return hasManyDigits(text) ? json.parse(text, keepDigits) : JSON.parse(text);
}

/** Whether `parseExactly` made this from an integer. */
export function isExactInteger(value: unknown): boolean {
  return json.isRawJSON(value);
}

function keepDigits(_key: string, value: unknown, { source = '' }: { source?: string }): unknown {
  const isUnsafe = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  return isUnsafe ? json.rawJSON(source) : value;
}
