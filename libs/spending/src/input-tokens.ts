// Estimates the tokens of a request when its maker has not counted them: before a call, after a call that its caller
// left early, and for makers without counts. A body of 32 MiB takes milliseconds, so other calls are not delayed.
/** Approximate tokens that makers count for an image; also used for audio and documents of any length. */
export const FILE_TOKENS = 1_000;
/** Minimum run of base64 that counts as a file; text has a space, a quote or another script sooner. */
const FILE_BYTES_MIN = 4_096;
/** Bytes of JSON punctuation. */
const [QUOTES, BRACKETS, COLON] = [2, 2, 1];

/** The characters of both base64 alphabets, and the backslash of an escaped `/`. */
const OF_BASE64 = new Uint8Array(256);
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\'))
  OF_BASE64[byte] = 1;

/** Members of a message that carry a file. A long text without blanks in any other member is text. */
const FILE_MEMBERS: ReadonlySet<string> = new Set(['url', 'image_url', 'data', 'file_data']);

/** Bytes of text per token when a maker gives no count: OpenAI's rule of thumb for English. */
const BYTES_PER_TOKEN = 4;

/** An estimate of the tokens in so many bytes of JSON. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

interface InputSize {
  textBytes: number;
  files: number;
}

/** Tokens of a request in bytes, for rate limits only: any long run of base64 counts as a file, also in a text. */
export function estimateInputTokens(request: Uint8Array): number {
  const size = { textBytes: 0, files: 0 };
  addBytes(size, request);
  return tokensOf(size);
}

/** Tokens of a parsed JSON value. Only the members that carry files may count as files. */
export function estimateJsonTokens(value: unknown): number {
  const size = { textBytes: 0, files: 0 };
  addValue(size, value);
  return tokensOf(size);
}

function tokensOf({ textBytes, files }: InputSize): number {
  return estimateTokens(textBytes) + files * FILE_TOKENS;
}

/**
 * Adds the JSON size of a value, without escapes.
 * @param name of the member that has this value, or has a list with it
 */
function addValue(size: InputSize, value: unknown, name = ''): void {
  if (typeof value === 'string') {
    size.textBytes += QUOTES;
    if (FILE_MEMBERS.has(name)) addBytes(size, Buffer.from(value));
    else size.textBytes += Buffer.byteLength(value);
  } else if (Array.isArray(value)) {
    size.textBytes += BRACKETS + Math.max(0, value.length - 1);
    for (const one of value) addValue(size, one, name);
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, own]) => own !== undefined);
    size.textBytes += BRACKETS + Math.max(0, members.length - 1);
    for (const [member, own] of members) {
      size.textBytes += QUOTES + COLON + Buffer.byteLength(member);
      addValue(size, own, member);
    }
  } else {
    size.textBytes += String(value).length;
  }
}

/** A run of FILE_BYTES_MIN bytes covers a multiple of that number, so only these positions start a search. */
function addBytes(size: InputSize, bytes: Uint8Array): void {
  size.textBytes += bytes.length;
  let measured = 0;
  for (let at = 0; at < bytes.length; at += FILE_BYTES_MIN) {
    if (at < measured || !isBase64(bytes, at)) continue;
    let start = at;
    while (start > measured && isBase64(bytes, start - 1)) start -= 1;
    measured = at + 1;
    while (isBase64(bytes, measured)) measured += 1;
    if (measured - start < FILE_BYTES_MIN) continue;
    size.files += 1;
    size.textBytes -= measured - start;
  }
}

function isBase64(bytes: Uint8Array, at: number): boolean {
  return at < bytes.length && OF_BASE64[bytes[at] as number] === 1;
}
