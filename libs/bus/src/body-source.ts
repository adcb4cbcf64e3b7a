// A request body that its caller makes as it goes: read one chunk at a time, and only as fast as the service takes it.
import type { ByteSender } from './byte-sender.ts';

/** A Readable is one too; the bus destroys it where the call ends first. */
export type ByteSource = AsyncIterable<Uint8Array>;

export class BodySource {
  readonly #source: ByteSource;
  readonly #iterator: AsyncIterator<Uint8Array>;
  /** Read at once, so that a source that fails is heard of even while nobody takes the call. */
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

  /** Sends everything. To be called once. */
  sendTo(sender: ByteSender): void {
    this.#send(sender).catch((error: unknown) => this.#failed(error));
  }

  /** Nobody wants the rest. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    // A Readable that is being waited for hears of `return` only with its next chunk, which may never come.
    if (isDestroyable(this.#source)) this.#source.destroy();
    else this.#iterator.return?.().catch(() => {}); // how it cleans up is its own affair
  }

  async #send(sender: ByteSender): Promise<void> {
    const first = this.#first ?? this.#iterator.next();
    this.#first = null; // its bytes may be a view of the whole body's memory, which must not be held to the call's end
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
    if (this.#over) return; // it was stopped, and says so
    this.#over = true;
    this.#onFailed(error);
  }
}

function isDestroyable(source: ByteSource): source is ByteSource & { destroy(): unknown } {
  return 'destroy' in source && typeof source.destroy === 'function';
}
