// Stores the bytes of one answer while they are sent: a short answer in its record, a longer one as an object, streamed
// so that only a bounded queue is in memory.
import type { ObjectStore } from '@switchyard/bus';
import type { KeptAnswer } from '@switchyard/contracts';
import { Sealing } from './answer-seal.ts';
import type { Share } from './org-quota.ts';

/** Maximum bytes of an answer that is kept; a longer one is sent and not kept. */
export const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** Bytes that fit into the record: in base64 they stay below the largest NATS message. */
const INLINE_BYTES_MAX = 256 * 1024;
/** Bytes that wait for the store before the answer's writer must wait. */
export const QUEUE_BYTES_MAX = 1024 * 1024;

interface BodyKeeperOptions {
  objects: Pick<ObjectStore, 'put'>;
  /** Id of the object, if the answer becomes one. */
  id: string;
  sealingKey: Buffer;
  /** Share of the org's quota; an answer that does not fit is sent and not kept. */
  share: Pick<Share, 'hold'>;
  /** Called when there is room again after `write` returned false. */
  onRoom: () => void;
}

export class BodyKeeper {
  readonly #deps: BodyKeeperOptions;
  readonly #sealing: Sealing;
  #pieces: Buffer[] = [];
  #queuedBytes = 0;
  #bytes = 0;
  #stored: Promise<unknown> | null = null;
  #failure: Error | null = null;
  #ended = false;
  #wake: () => void = () => {};

  constructor(options: BodyKeeperOptions) {
    this.#deps = options;
    this.#sealing = new Sealing(options.sealingKey);
  }

  /** Copies the piece. Returns false when the writer must wait for `onRoom`. */
  write(piece: Buffer): boolean {
    if (this.#failure) return true;
    this.#bytes += piece.length;
    if (this.#bytes > ANSWER_BYTES_MAX) {
      this.#fail(new Error(`the answer is over ${ANSWER_BYTES_MAX} bytes`));
      return true;
    }
    if (!this.#deps.share.hold(this.#bytes)) {
      this.#fail(new Error('the answer does not fit in the quota of its org'));
      return true;
    }
    const sealed = this.#sealing.add(piece);
    this.#pieces.push(sealed);
    this.#queuedBytes += sealed.length;
    if (this.#queuedBytes > INLINE_BYTES_MAX) this.#stored ??= this.#store();
    this.#wake();
    return this.#stored === null || this.#queuedBytes < QUEUE_BYTES_MAX;
  }

  /** @throws the reason why the answer could not be kept. */
  async end(): Promise<KeptAnswer['body']> {
    this.#ended = true;
    const seal = this.#sealing.end();
    const bytes = this.#bytes;
    if (this.#stored === null && !this.#failure)
      return { kind: 'inline', base64: Buffer.concat(this.#pieces).toString('base64'), bytes, seal };
    this.#wake();
    await this.#stored;
    if (this.#failure) throw this.#failure;
    return { kind: 'object', id: this.#deps.id, bytes, seal };
  }

  /** Drops the answer. */
  discard(): void {
    this.#fail(new Error('the answer is not to be kept'));
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    this.#deps.share.hold(0);
    this.#pieces = [];
    this.#queuedBytes = 0;
    this.#wake();
    this.#deps.onRoom();
  }

  async #store(): Promise<void> {
    try {
      await this.#deps.objects.put(this.#deps.id, this.#queue());
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  async *#queue(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#failure) throw this.#failure; // the store then removes what it has
      const piece = this.#pieces.shift();
      if (piece) {
        const wasFull = this.#queuedBytes >= QUEUE_BYTES_MAX;
        this.#queuedBytes -= piece.length;
        if (wasFull && this.#queuedBytes < QUEUE_BYTES_MAX) this.#deps.onRoom();
        yield piece;
      } else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
