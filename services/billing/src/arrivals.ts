// Batches of the messages that arrive at a consumer. Messages are collected for a short time, because a batch costs
// the database about the same whatever its size; a flood and a waiting reader do not wait for this time.
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';

interface ArrivalsOptions {
  /** Requests this many messages; the returned pull ends by itself after some time. */
  readonly pull: (messages: number) => Promise<ConsumerMessages>;
  /** Maximum number of messages in one batch and in one pull. At most twice as many are buffered. */
  readonly batchMax: number;
  /** Milliseconds for which the first message of a batch waits for others, unless the batch is full or hurried. */
  readonly collectMs: number;
}

export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #pulls = new Set<Promise<void>>();
  readonly #open = new Set<ConsumerMessages>();
  #arrived: JsMsg[] = [];
  /** Number of messages that are requested and have not arrived. */
  #awaited = 0;
  #wake: () => void = () => {};
  /** When the oldest message arrived that was not handed out (`performance.now()`). */
  #oldestAt = 0;
  #endCollecting: () => void = () => {};
  #isOver = false;
  #left: Promise<JsMsg[]> | null = null;
  #failure: unknown = null;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
    this.#askForMore();
  }

  /**
   * Returns the messages that were collected, at least one and at most a batch; null after `stop`.
   * @throws the error of a failed pull
   */
  async next(): Promise<JsMsg[] | null> {
    while (this.#arrived.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#isOver) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    await this.#collected();
    // Keeps messages from the same socket read in one batch.
    await new Promise(setImmediate);
    if (this.#isOver) return null;
    const batch = this.#arrived.splice(0, this.#options.batchMax);
    this.#oldestAt = performance.now();
    this.#askForMore();
    return batch;
  }

  /** Hands out what has arrived, without waiting for more. */
  hurry(): void {
    this.#endCollecting();
  }

  /** Resolves when the batch is full, its time is over, or it is hurried. */
  #collected(): Promise<void> {
    const { batchMax, collectMs } = this.#options;
    const leftMs = collectMs - (performance.now() - this.#oldestAt);
    if (leftMs <= 0 || this.#arrived.length >= batchMax || this.#failure !== null) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, leftMs);
      this.#endCollecting = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Replaces all pulls at once, for when they may have been lost with the link. */
  renew(): void {
    for (const messages of this.#open) messages.stop();
  }

  /** Stops, and returns the messages that were not handed out. Every caller gets the same list. */
  stop(): Promise<JsMsg[]> {
    this.#left ??= this.#end();
    return this.#left;
  }

  async #end(): Promise<JsMsg[]> {
    this.#isOver = true;
    this.#wake();
    this.hurry();
    this.renew();
    await Promise.all(this.#pulls);
    return this.#arrived.splice(0);
  }

  #askForMore(): void {
    const { batchMax } = this.#options;
    if (this.#isOver || this.#failure !== null || this.#awaited + this.#arrived.length >= batchMax) return;
    const pull = this.#collect(batchMax).finally(() => {
      this.#pulls.delete(pull);
      this.#askForMore();
    });
    this.#pulls.add(pull);
  }

  async #collect(count: number): Promise<void> {
    let left = count;
    this.#awaited += left;
    let messages: ConsumerMessages | null = null;
    try {
      messages = await this.#options.pull(count);
      this.#open.add(messages);
      if (this.#isOver) messages.stop();
      for await (const message of messages) {
        left -= 1;
        this.#awaited -= 1;
        if (this.#arrived.length === 0) this.#oldestAt = performance.now();
        this.#arrived.push(message);
        if (this.#arrived.length >= this.#options.batchMax) this.hurry();
        this.#wake();
        this.#askForMore();
      }
    } catch (error) {
      this.#failure ??= error;
      this.#wake();
      this.hurry();
    } finally {
      if (messages) this.#open.delete(messages);
      this.#awaited -= left;
    }
  }
}
