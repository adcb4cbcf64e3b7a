// Converts output of a command to events: UTF-8 as text, other bytes as base64, never splitting a character.
import { isUtf8 } from 'node:buffer';
import type { ExecEvent } from '@switchyard/contracts';

type OutputEvent = Extract<ExecEvent, { type: 'output' }>;

/** Bytes of the longest UTF-8 character. */
const CHARACTER_BYTES_MAX = 4;

export class OutputEvents {
  /** The beginning of an incomplete character. */
  #begun = Buffer.alloc(0);

  /** Returns the event of these bytes, or null while they are an incomplete character. */
  push(bytes: Buffer): OutputEvent | null {
    const all = this.#begun.length === 0 ? bytes : Buffer.concat([this.#begun, bytes]);
    const whole = all.length - unfinishedBytes(all);
    this.#begun = Buffer.from(all.subarray(whole)); // a copy, so that the larger buffer can be freed
    return whole === 0 ? null : toEvent(all.subarray(0, whole));
  }

  /** Returns the incomplete character left at the end. */
  end(): OutputEvent | null {
    return this.#begun.length === 0 ? null : toEvent(this.#begun);
  }
}

function toEvent(bytes: Buffer): OutputEvent {
  const encoding = isUtf8(bytes) ? 'utf-8' : 'base64';
  return { type: 'output', data: bytes.toString(encoding), encoding };
}

/** Bytes at the end that form an incomplete character. */
function unfinishedBytes(bytes: Buffer): number {
  const looked = Math.min(bytes.length, CHARACTER_BYTES_MAX - 1);
  for (let back = 1; back <= looked; back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // a continuation byte: the character begins earlier
    return charactersBytes(byte) > back ? back : 0;
  }
  return 0;
}

/** Length of the character that begins with this byte. */
function charactersBytes(first: number): number {
  if (first >= 0b1111_0000) return 4;
  if (first >= 0b1110_0000) return 3;
  return first >= 0b1100_0000 ? 2 : 1;
}
