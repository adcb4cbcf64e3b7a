// The bytes of one answer on their way into the store while they go over the wire: a short one in its record, a longer one
// as an object, stored as it comes, so that no more than a queue of it is in memory.
import type { ObjectStore } from '@switchyard/bus';
import type { KeptAnswer } from '@switchyard/contracts';
import { Sealing } from './answer-seal.ts';

/** Bytes of an answer that are kept; a longer one passes, and is not. */
export const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** Bytes that go into the record: in base64 they stay below NATS' largest message. */
const INLINE_BYTES_MAX = 256 * 1024;
/** Bytes that wait for the store before the answer's writer is asked to wait. */
export const QUEUE_BYTES_MAX = 1024 * 1024;

export interface BodyKeeperOptions {
  objects: Pick<ObjectStore, 'put'>;
  /** The object's id, if it becomes one. */
  id: string;
  sealingKey: Buffer;
  /** After `write` has said that there is no room: there is again. */
  onRoom: () => void;
}

export class BodyKeeper {
  readonly #on: BodyKeeperOptions;
  readonly #sealing: Sealing;
  #pieces: Buffer[] = [];
  #queuedBytes = 0;
  #bytes = 0;
  #stored: Promise<unknown> | null = null;
  #failure: Error | null = null;
  #ended = false;
  #wake: () => void = () => {};

  constructor(options: BodyKeeperOptions) {
    this.#on = options;
    this.#sealing = new Sealing(options.sealingKey);
  }

  /** False: wait for `onRoom` before the next one. The piece is copied. */
  write(piece: Buffer): boolean {
    if (this.#failure) return true;
    this.#bytes += piece.length;
    if (this.#bytes > ANSWER_BYTES_MAX) {
      this.#fail(new Error(`the answer is over ${ANSWER_BYTES_MAX} bytes`));
      return true;
    }
    const sealed = this.#sealing.add(piece);
    this.#pieces.push(sealed);
    this.#queuedBytes += sealed.length;
    if (this.#queuedBytes > INLINE_BYTES_MAX) this.#stored ??= this.#store();
    this.#wake();
    return this.#stored === null || this.#queuedBytes < QUEUE_BYTES_MAX;
  }

  /** @throws why it could not be kept. */
  async end(): Promise<KeptAnswer['body']> {
    this.#ended = true;
    const seal = this.#sealing.end();
    const bytes = this.#bytes;
    if (this.#stored === null && !this.#failure)
      return { kind: 'inline', base64: Buffer.concat(this.#pieces).toString('base64'), bytes, seal };
    this.#wake();
    await this.#stored;
    if (this.#failure) throw this.#failure;
    return { kind: 'object', id: this.#on.id, bytes, seal };
  }

  /** Nothing of it is to be kept. */
  discard(): void {
    this.#fail(new Error('the answer is not to be kept'));
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    this.#pieces = [];
    this.#queuedBytes = 0;
    this.#wake();
    this.#on.onRoom();
  }

  async #store(): Promise<void> {
    try {
      await this.#on.objects.put(this.#on.id, this.#queue());
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  async *#queue(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#failure) throw this.#failure; // the store takes back what it has
      const piece = this.#pieces.shift();
      if (piece) {
        const wasFull = this.#queuedBytes >= QUEUE_BYTES_MAX;
        this.#queuedBytes -= piece.length;
        if (wasFull && this.#queuedBytes < QUEUE_BYTES_MAX) this.#on.onRoom();
        yield piece;
      } else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
