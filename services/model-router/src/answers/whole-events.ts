// Splits a stream of server-sent events between its events. The text is latin1, one character per byte.
import { UnusableAnswer } from '../makers/unusable-answer.ts';

/** Maximum size of one event; a longer one is an error. */
const EVENT_BYTES_MAX = 32 * 1024 * 1024;
/** One less than the longest end of an event, which has three characters. */
const SEAM_LENGTH = 2;
/** The last event of a chat. Its blank line is not waited for: some servers send none, and keep the connection open. */
const DONE = /^data: ?\[DONE\]\s*$/;
/** Length of a `[DONE]` with whitespace around it. Longer events are not searched again with each chunk. */
const DONE_LENGTH_MAX = 64;

export class WholeEvents {
  #rest = '';
  /** The last characters of `#rest`, which may be the start of an event's end. */
  #seam = '';

  /** The start of an incomplete event. */
  get rest(): string {
    return this.#rest;
  }

  /** Returns the events that these bytes complete; '' for none. @throws UnusableAnswer for an event that does not end */
  push(bytes: Buffer): string {
    const events = this.#split(bytes);
    if (this.#rest.length > DONE_LENGTH_MAX || !DONE.test(this.#rest)) return events;
    const done = `${this.#rest}\n\n`;
    this.#rest = '';
    this.#seam = '';
    return events + done;
  }

  #split(bytes: Buffer): string {
    const text = bytes.toString('latin1');
    // Searches only the new bytes; otherwise each chunk would rescan an event that holds an image of many MB.
    const seam = this.#seam + text;
    const end = lastEventEnd(seam);
    this.#rest += text;
    if (end === 0) {
      this.#seam = seam.slice(-SEAM_LENGTH);
      if (this.#rest.length > EVENT_BYTES_MAX)
        throw new UnusableAnswer('an event of the stream does not end');
      return '';
    }
    const whole = this.#rest;
    const at = whole.length - seam.length + end;
    this.#rest = whole.slice(at);
    this.#seam = this.#rest.slice(-SEAM_LENGTH);
    return whole.slice(0, at);
  }
}

/** Index just behind the last whole event. */
function lastEventEnd(text: string): number {
  const plain = text.lastIndexOf('\n\n');
  const carriage = text.lastIndexOf('\n\r\n');
  return Math.max(plain < 0 ? 0 : plain + 2, carriage < 0 ? 0 : carriage + 3);
}
