// A request body that the caller produces as a stream: one chunk at a time, at the service's pace.
import type { ByteSender } from './byte-sender.ts';

/** May also be a Readable; the bus destroys it if the call ends first. */
export type ByteSource = AsyncIterable<Uint8Array>;

export class BodySource {
  readonly #source: ByteSource;
  readonly #iterator: AsyncIterator<Uint8Array>;
  /** Read at once, so that a failing source is reported even before a service takes the call. */
  #first: Promise<IteratorResult<Uint8Array>> | null;
  readonly #onFailed: (error: unknown) => void;
  #over = false;

  constructor(source: ByteSource, onFailed: (error: unknown) => void) {
    this.#source = source;
    this.#onFailed = onFailed;
    this.#iterator = source[Symbol.asyncIterator]();
    const first = this.#iterator.next();
    first.catch((error: unknown) => this.#failed(error));
    this.#first = first;
  }

  /** Sends the whole body. Call it once. */
  sendTo(sender: ByteSender): void {
    this.#send(sender).catch((error: unknown) => this.#failed(error));
  }

  /** The rest of the body is not needed. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    // A Readable with a pending read handles `return` only after its next chunk, which may never arrive.
    if (isDestroyable(this.#source)) this.#source.destroy();
    else this.#iterator.return?.().catch(() => {}); // cleanup errors of the source are its own concern
  }

  async #send(sender: ByteSender): Promise<void> {
    const first = this.#first ?? this.#iterator.next();
    this.#first = null; // its bytes may be a view of the whole body, which must not stay in memory until the call ends
    for (let step = await first; !this.#over; step = await this.#iterator.next()) {
      if (step.done) {
        this.#over = true;
        return sender.end('');
      }
      if (!sender.write(step.value)) await sender.drained();
      if (this.#over) return;
    }
  }

  #failed(error: unknown): void {
    if (this.#over) return; // the body was stopped or has already failed
    this.#over = true;
    this.#onFailed(error);
  }
}

function isDestroyable(source: ByteSource): source is ByteSource & { destroy(): unknown } {
  return 'destroy' in source && typeof source.destroy === 'function';
}
