// The receiving half of a byte stream under credit: an async iterable over the bytes received and not yet read.
// Asking for the next chunk marks the previous one as consumed. A slow reader therefore slows the sender, and the
// queue never holds more than the granted window.

interface ByteQueueOptions {
  /** The reader consumed this many more bytes: grant them. */
  consumed(bytes: number): void;
  /** The reader left before the end. */
  abandoned?(): void;
}

type Step = IteratorResult<Buffer, undefined>;

const DONE: Step = { done: true, value: undefined };

export class ByteQueue implements AsyncIterableIterator<Buffer, undefined, undefined> {
  readonly #options: ByteQueueOptions;
  #chunks: Buffer[] = [];
  /** Size in bytes of the chunk that the reader is processing. */
  #inHand = 0;
  #error: Error | null = null;
  /** No more bytes will arrive. */
  #complete = false;
  /** No more bytes will be read. */
  #over = false;
  #waiting: PromiseWithResolvers<Step> | null = null;

  constructor(options: ByteQueueOptions) {
    this.#options = options;
  }

  push(bytes: Buffer): void {
    if (this.#complete || bytes.length === 0) return;
    if (this.#waiting) this.#settle(this.#hand(bytes));
    else this.#chunks.push(bytes);
  }

  end(last?: Buffer): void {
    if (this.#complete) return;
    if (last) this.push(last);
    this.#complete = true;
    if (this.#waiting) this.#settle(this.#finish());
  }

  /** Drops the unread bytes; the reader's next step throws the error. */
  fail(error: Error): void {
    if (this.#complete) return;
    this.#chunks = [];
    this.breakOff(error);
  }

  /** No more bytes will arrive: the reader gets the unread bytes, then the error. */
  breakOff(error: Error): void {
    if (this.#complete) return;
    this.#complete = true;
    const waiting = this.#waiting;
    this.#waiting = null;
    if (!waiting) {
      this.#error = error;
      return;
    }
    this.#over = true;
    waiting.reject(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @throws the error given to `fail`; TypeError when a step is already pending. */
  next(): Promise<Step> {
    if (this.#over) return Promise.resolve(DONE);
    if (this.#waiting) return Promise.reject(new TypeError('one reader, one step at a time'));
    this.#confirm();
    const chunk = this.#chunks.shift();
    if (chunk) return Promise.resolve(this.#hand(chunk));
    if (this.#error) {
      this.#over = true;
      return Promise.reject(this.#error);
    }
    if (this.#complete) return Promise.resolve(this.#finish());
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  /** The reader leaves: no more bytes are granted. */
  return(): Promise<Step> {
    if (this.#over) return Promise.resolve(DONE);
    const early = !this.#complete;
    this.#over = true;
    this.#complete = true;
    this.#chunks = [];
    if (this.#waiting) this.#settle(DONE);
    if (early) this.#options.abandoned?.();
    return Promise.resolve(DONE);
  }

  #hand(chunk: Buffer): Step {
    this.#inHand = chunk.length;
    return { done: false, value: chunk };
  }

  #confirm(): void {
    if (this.#inHand === 0) return;
    const bytes = this.#inHand;
    this.#inHand = 0;
    this.#options.consumed(bytes);
  }

  #finish(): Step {
    this.#over = true;
    return DONE;
  }

  #settle(step: Step): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve(step);
  }
}
