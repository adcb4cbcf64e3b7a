// Extracts the string of the member `audio` from a JSON object while it arrives, so that the text of a 33 MB body is
// never in memory. The base64 goes to the decoder; everything else is kept unchanged and parsed at the end.
import { invalidParam, ServiceError, TRANSCRIPTION_FIELDS_BYTES_MAX } from '@switchyard/contracts';
import { notJson, parseJson } from '../../http/read-body.ts';

const MEMBER = 'audio';
/** Bytes of a key that may equal MEMBER with every character escaped. */
const KEY_BYTES_MAX = MEMBER.length * 6;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Characters by the letter of their short escapes: a body may consist of these, and parsing each takes too long. */
const ESCAPED: ReadonlyMap<number, string> = new Map(
  [...'"\\/bfnrt'].map((letter) => [letter.charCodeAt(0), JSON.parse(`"\\${letter}"`)]),
);

interface StringSink {
  /** Takes a piece of the string's characters. */
  push(text: string): void;
  /** The string was closed. */
  end(): void;
}

export class AudioMemberScanner {
  readonly #sink: StringSink;
  readonly #rest: Buffer[] = [];
  #restBytes = 0;
  #depth = 0;
  #where: 'between' | 'key' | 'string' | 'audio' = 'between';
  /** At the top level: whether a key or a value may come next. */
  #expected: 'key' | 'value' = 'key';
  #escaped = false;
  #key: number[] = [];
  /** An incomplete escape sequence within the audio. */
  #escape = '';
  #found = false;

  constructor(sink: StringSink) {
    this.#sink = sink;
  }

  /**
   * @throws ServiceError for what the sink refuses; `body_too_large` when the other members are too large;
   * `invalid_request`
   */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length)
      at = this.#where === 'audio' ? this.#passAudio(bytes, at) : this.#passRest(bytes, at);
  }

  /**
   * Returns the object without its audio.
   * @throws ServiceError `invalid_json`; `invalid_request` when the audio is missing or not a string
   */
  end(): Record<string, unknown> {
    const json = parseJson(Buffer.concat(this.#rest, this.#restBytes));
    if (typeof json !== 'object' || json === null || Array.isArray(json))
      throw new ServiceError('invalid_request', 'The body is not a JSON object. Send an object.');
    const { [MEMBER]: placeholder, ...fields } = json as Record<string, unknown>;
    if (placeholder === undefined || placeholder === null)
      throw invalidParam(MEMBER, 'is required. Send the audio as base64, and its type in media_type.');
    if (!this.#found || placeholder !== '')
      throw invalidParam(MEMBER, 'is not a string of base64. Send the audio as base64.');
    return fields;
  }

  /** Keeps everything that is not audio. Returns where the audio's characters begin, or the end. */
  #passRest(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && this.#where !== 'audio') {
      this.#step(bytes[at] as number);
      at += 1;
    }
    this.#keep(bytes.subarray(start, at));
    return at;
  }

  #step(byte: number): void {
    if (this.#where === 'between') return this.#stepBetween(byte);
    if (this.#where === 'key' && this.#key.length <= KEY_BYTES_MAX) this.#key.push(byte);
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#where = 'between';
  }

  #stepBetween(byte: number): void {
    switch (byte) {
      case QUOTE:
        return this.#openString();
      case OPEN_BRACE:
      case OPEN_BRACKET:
        this.#depth += 1;
        return;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        this.#depth -= 1;
        return;
      case COLON:
        if (this.#depth === 1) this.#expected = 'value';
        return;
      case COMMA:
        if (this.#depth === 1) this.#expected = 'key';
    }
  }

  #openString(): void {
    if (this.#depth !== 1) this.#where = 'string';
    else if (this.#expected === 'key') {
      this.#key = [];
      this.#where = 'key';
    } else if (!this.#isAudio()) this.#where = 'string';
    else if (this.#found) throw invalidParam(MEMBER, 'is given twice. Send it once.');
    else {
      this.#found = true;
      this.#where = 'audio';
    }
  }

  /** Whether the last key, with its closing quote and any escapes, equals MEMBER. */
  #isAudio(): boolean {
    if (this.#key.length > KEY_BYTES_MAX + 1) return false;
    try {
      return JSON.parse(`"${Buffer.from(this.#key).toString('latin1')}`) === MEMBER;
    } catch {
      return false; // invalid JSON, reported at the end
    }
  }

  /**
   * Passes the audio's characters on, with one look at each: a piece may consist of escapes. Returns where the rest begins,
   * starting with the closing quote.
   */
  #passAudio(bytes: Buffer, start: number): number {
    let text = '';
    let at = start;
    while (at < bytes.length) {
      const byte = bytes[at] as number;
      if (this.#escape !== '' || byte === BACKSLASH) {
        text += this.#passEscape(byte);
        at += 1;
      } else if (byte === QUOTE) break;
      else {
        const end = endOfPlain(bytes, at);
        text += bytes.toString('latin1', at, end);
        at = end;
      }
    }
    this.#sink.push(text);
    if (at < bytes.length) {
      this.#sink.end();
      this.#where = 'string'; // the closing quote follows
    }
    return at;
  }

  /** Returns the character at the end of an escape. Encoders write some: `\/` by PHP, `\u002B` by .NET, `\n` by Ruby. */
  #passEscape(byte: number): string {
    const short = this.#escape === '\\' ? ESCAPED.get(byte) : undefined;
    if (short !== undefined) {
      this.#escape = '';
      return short;
    }
    this.#escape += String.fromCharCode(byte);
    const length = this.#escape.startsWith('\\u') ? '\\u0000'.length : '\\n'.length;
    if (this.#escape.length < length) return '';
    const character = unescaped(this.#escape);
    this.#escape = '';
    return character;
  }

  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (this.#restBytes > TRANSCRIPTION_FIELDS_BYTES_MAX)
      throw new ServiceError(
        'body_too_large',
        `The fields besides the audio exceed ${TRANSCRIPTION_FIELDS_BYTES_MAX} bytes. Send less.`,
      );
    this.#rest.push(Buffer.from(bytes)); // a copy, so that a few bytes do not retain a whole piece of the body
  }
}

/** Position of the next quote or backslash, or the end. */
function endOfPlain(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at += 1;
  return at;
}

/** @throws ServiceError `invalid_json` */
function unescaped(sequence: string): string {
  try {
    return JSON.parse(`"${sequence}"`);
  } catch (cause) {
    throw notJson(cause);
  }
}
