// Takes the string of the member `audio` out of a JSON object while it comes, so that the text of a 33 MB body is never
// held: its base64 goes to the decoder, all else is kept, as it is, to be parsed at the end.
import { ServiceError, TRANSCRIPTION_FIELDS_BYTES_MAX } from '@switchyard/contracts';
import { parseJson } from '../../http/read-body.ts';

const MEMBER = 'audio';
/** Bytes of a key that may be it, every character of it escaped. */
const KEY_BYTES_MAX = MEMBER.length * 6;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export interface StringSink {
  /** A piece of the string's characters. */
  push(text: string): void;
  /** The string has been closed. */
  end(): void;
}

export class AudioMemberScanner {
  readonly #sink: StringSink;
  readonly #rest: Buffer[] = [];
  #restBytes = 0;
  #depth = 0;
  #where: 'between' | 'key' | 'string' | 'audio' = 'between';
  /** At the top level: a key may come, or a value may. */
  #expected: 'key' | 'value' = 'key';
  #escaped = false;
  #key: number[] = [];
  /** An escape sequence of the audio that has not come whole. */
  #escape = '';
  #found = false;

  constructor(sink: StringSink) {
    this.#sink = sink;
  }

  /** @throws ServiceError for what the sink refuses; `body_too_large` where all else is too much; `invalid_request` */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length)
      at = this.#where === 'audio' ? this.#passAudio(bytes, at) : this.#passRest(bytes, at);
  }

  /**
   * The object without its audio.
   * @throws ServiceError `invalid_json`; `invalid_request` where there is no audio, or it is no string
   */
  end(): Record<string, unknown> {
    const json = parseJson(Buffer.concat(this.#rest, this.#restBytes));
    if (typeof json !== 'object' || json === null || Array.isArray(json))
      throw new ServiceError('invalid_request', 'the body must be a JSON object');
    const { [MEMBER]: placeholder, ...fields } = json as Record<string, unknown>;
    if (placeholder === undefined || placeholder === null)
      throw refuse('is required: the audio as base64, its type in media_type');
    if (!this.#found || placeholder !== '') throw refuse('must be a string of base64');
    return fields;
  }

  /** Everything that is not the audio's characters: kept. Returns where the audio's characters begin, or the end. */
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
    else if (this.#found) throw refuse('is there twice');
    else {
      this.#found = true;
      this.#where = 'audio';
    }
  }

  /** Whether the key read last, whose closing quote was read with it, says so, escapes and all. */
  #isAudio(): boolean {
    if (this.#key.length > KEY_BYTES_MAX + 1) return false;
    try {
      return JSON.parse(`"${Buffer.from(this.#key).toString('latin1')}`) === MEMBER;
    } catch {
      return false; // no JSON, which is found at the end
    }
  }

  /** The audio's characters. Returns where what follows them begins, its closing quote first. */
  #passAudio(bytes: Buffer, start: number): number {
    if (this.#escape !== '') return this.#passEscape(bytes, start);
    const quote = bytes.indexOf(QUOTE, start);
    const end = quote === -1 ? bytes.length : quote;
    const plain = bytes.subarray(start, end);
    const backslash = plain.indexOf(BACKSLASH);
    if (backslash !== -1) {
      this.#sink.push(plain.toString('latin1', 0, backslash));
      this.#escape = '\\';
      return start + backslash + 1;
    }
    this.#sink.push(plain.toString('latin1'));
    if (quote !== -1) {
      this.#sink.end();
      this.#where = 'string'; // the quote closes it
    }
    return end;
  }

  /** `\/` of PHP, `\u002B` of .NET, `\n` of Ruby. */
  #passEscape(bytes: Buffer, at: number): number {
    this.#escape += String.fromCharCode(bytes[at] as number);
    const length = this.#escape.startsWith('\\u') ? '\\u0000'.length : '\\n'.length;
    if (this.#escape.length === length) {
      const character = parseJson(Buffer.from(`"${this.#escape}"`)) as string;
      this.#escape = '';
      this.#sink.push(character);
    }
    return at + 1;
  }

  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (this.#restBytes > TRANSCRIPTION_FIELDS_BYTES_MAX)
      throw new ServiceError(
        'body_too_large',
        `the fields beside the audio are over the limit of ${TRANSCRIPTION_FIELDS_BYTES_MAX} bytes`,
      );
    this.#rest.push(Buffer.from(bytes)); // a copy: a few bytes must not hold a whole piece of the body
  }
}

function refuse(what: string): ServiceError {
  return new ServiceError('invalid_request', `${MEMBER}: ${what}`, { param: MEMBER });
}
