// Output of a command as events: text where it is text, base64 where it is not, and no character cut in two.
import { isUtf8 } from 'node:buffer';
import type { ExecEvent } from '@switchyard/contracts';

type OutputEvent = Extract<ExecEvent, { type: 'output' }>;

/** Bytes of the longest UTF-8 character. */
const CHARACTER_BYTES_MAX = 4;

export class OutputEvents {
  /** The beginning of a character whose rest is still to come. */
  #begun = Buffer.alloc(0);

  /** The event of these bytes; null while they are the beginning of one character. */
  push(bytes: Buffer): OutputEvent | null {
    const all = this.#begun.length === 0 ? bytes : Buffer.concat([this.#begun, bytes]);
    const whole = all.length - unfinishedBytes(all);
    this.#begun = Buffer.from(all.subarray(whole)); // a copy: not to hold what it is a part of
    return whole === 0 ? null : toEvent(all.subarray(0, whole));
  }

  /** What is left at the end: the beginning of a character that never came whole. */
  end(): OutputEvent | null {
    return this.#begun.length === 0 ? null : toEvent(this.#begun);
  }
}

function toEvent(bytes: Buffer): OutputEvent {
  const encoding = isUtf8(bytes) ? 'utf-8' : 'base64';
  return { type: 'output', data: bytes.toString(encoding), encoding };
}

/** Bytes at the end that begin a character and are not all of it. */
function unfinishedBytes(bytes: Buffer): number {
  const looked = Math.min(bytes.length, CHARACTER_BYTES_MAX - 1);
  for (let back = 1; back <= looked; back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // within a character: its beginning is further back
    return charactersBytes(byte) > back ? back : 0;
  }
  return 0;
}

/** How long the character is that this byte begins. */
function charactersBytes(first: number): number {
  if (first >= 0b1111_0000) return 4;
  if (first >= 0b1110_0000) return 3;
  return first >= 0b1100_0000 ? 2 : 1;
}
