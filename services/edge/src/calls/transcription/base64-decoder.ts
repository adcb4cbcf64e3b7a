// Decodes base64 as it arrives, in arbitrary pieces: standard or URL-safe, with or without line breaks, with or without
// the prefix of a data: URL.
import { invalidParam, type ServiceError } from '@switchyard/contracts';
import type { BodyBuffer } from '../../http/body-buffer.ts';

const DATA_URL = 'data:';
/** Maximum characters of a data: URL before its comma. */
const DATA_URL_HEAD_LENGTH_MAX = 256;
const BLANKS = /[\r\n\t ]/;
const ALL_BLANKS = /[\r\n\t ]+/g;
/** Characters that encode three bytes. */
const GROUP = 4;
const PADDING = /^={0,2}$/;

export class Base64Decoder {
  readonly #target: BodyBuffer;
  /** Characters not decoded yet: the beginning, until the prefix is known; later fewer than four. */
  #kept = '';
  #begun = false;
  #padding = '';

  constructor(target: BodyBuffer) {
    this.#target = target;
  }

  /** @throws ServiceError `invalid_request` for invalid base64, `body_too_large` */
  push(text: string): void {
    const characters = BLANKS.test(text) ? text.replaceAll(ALL_BLANKS, '') : text;
    if (this.#padding !== '') return this.#pad(characters);
    this.#kept += characters;
    if (this.#begun || this.#passHead()) this.#decode();
  }

  /** @throws ServiceError `invalid_request` for an incomplete group */
  end(): void {
    this.#begun = true;
    this.#decode();
    const rest = this.#kept.length;
    const paddings = rest === 0 ? [0] : rest === 1 ? [] : [0, GROUP - rest];
    const complete = paddings.includes(this.#padding.length);
    if (!complete || (rest > 0 && !this.#target.appendBase64(this.#kept))) throw noBase64();
    this.#kept = '';
  }

  /** Returns true when the prefix, if any, was skipped. */
  #passHead(): boolean {
    if (this.#kept.length < DATA_URL.length) return false;
    if (this.#kept.startsWith(DATA_URL)) {
      const comma = this.#kept.indexOf(',');
      if (comma === -1 && this.#kept.length <= DATA_URL_HEAD_LENGTH_MAX) return false;
      if (comma === -1 || !this.#kept.slice(0, comma).endsWith(';base64')) throw noBase64();
      this.#kept = this.#kept.slice(comma + 1);
    }
    this.#begun = true;
    return true;
  }

  #decode(): void {
    const end = this.#kept.indexOf('=');
    if (end !== -1) {
      this.#pad(this.#kept.slice(end));
      this.#kept = this.#kept.slice(0, end);
    }
    const whole = this.#kept.length - (this.#kept.length % GROUP);
    if (whole > 0 && !this.#target.appendBase64(this.#kept.slice(0, whole))) throw noBase64();
    this.#kept = this.#kept.slice(whole);
  }

  /** Only padding may follow padding. */
  #pad(characters: string): void {
    this.#padding += characters;
    if (!PADDING.test(this.#padding)) throw noBase64();
  }
}

function noBase64(): ServiceError {
  return invalidParam('audio', 'is not base64. Send the audio as base64.');
}
