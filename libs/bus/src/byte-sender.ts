// The sending half of a byte stream under credit: splits bytes into numbered frames and holds back bytes without
// credit. Services use it for replies, callers for long request bodies.
import { encodeFrame, FRAME } from './frame.ts';
import { FRAME_BYTES_MAX } from './limits.ts';

type SendFrame = (frame: Buffer) => void;

interface Ending {
  meta: string;
}

export class ByteSender {
  readonly #send: SendFrame;
  #credit: number;
  #seq = 0;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #ending: Ending | null = null;
  #ended = false;
  #onDrain: (() => void) | null = null;

  /** `credit`: bytes that the receiver accepts before its first grant. */
  constructor(credit: number, send: SendFrame) {
    this.#credit = credit;
    this.#send = send;
  }

  nextSeq(): number {
    return this.#seq++;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Queues bytes. Returns false when credit is used up: wait for `drained` before writing more. */
  write(bytes: Uint8Array): boolean {
    if (this.#ended || this.#ending) return true;
    this.#enqueue(bytes);
    this.#pump();
    return this.#queuedBytes === 0;
  }

  /** Resolves when the queue is empty. */
  drained(): Promise<void> {
    if (this.#queuedBytes === 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrain = resolve;
    });
  }

  end(meta: string, last?: Uint8Array): void {
    if (this.#ended || this.#ending) return;
    if (last) this.#enqueue(last);
    this.#ending = { meta };
    this.#pump();
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#pump();
  }

  /** Drops queued bytes; nothing more is sent. */
  stop(): void {
    this.#ended = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#wake();
  }

  #enqueue(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    for (let at = 0; at < bytes.length; at += FRAME_BYTES_MAX)
      this.#queue.push(bytes.subarray(at, at + FRAME_BYTES_MAX));
    this.#queuedBytes += bytes.length;
  }

  #pump(): void {
    if (this.#ended) return; // a second end would replace the last bytes of one that its caller holds back
    while (this.#queue.length > (this.#ending ? 1 : 0) && this.#credit > 0) {
      const bytes = this.#queue.shift() as Uint8Array;
      this.#queuedBytes -= bytes.length;
      this.#credit -= bytes.length;
      this.#send(encodeFrame(FRAME.data, this.nextSeq(), '', bytes));
    }
    // The last frame needs no credit: it exceeds the window by at most one frame and ends the call.
    if (this.#ending && this.#queue.length <= 1 && (this.#credit > 0 || this.#queue.length === 0)) {
      const { meta } = this.#ending;
      this.#send(encodeFrame(FRAME.end, this.nextSeq(), meta, this.#queue[0]));
      this.stop();
      return;
    }
    if (this.#queuedBytes === 0) this.#wake();
  }

  #wake(): void {
    const wake = this.#onDrain;
    this.#onDrain = null;
    wake?.();
  }
}
