// Messages of a consumer, handed out in batches of whatever has come meanwhile: a lone event is not kept waiting for
// company, and a flood is taken in large bites. More is asked for before what has come is used up, so that nobody waits
// for a pull to go to the server and back.
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';

export interface ArrivalsOptions {
  /** Asks for so many messages; what it returns ends by itself after some time. */
  readonly pull: (messages: number) => Promise<ConsumerMessages>;
  /** Messages of one batch, and of one pull, at the most. Twice as many wait here at the most. */
  readonly batchMax: number;
}

export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #pulls = new Set<Promise<void>>();
  readonly #open = new Set<ConsumerMessages>();
  #arrived: JsMsg[] = [];
  /** Asked for, and not here yet. */
  #awaited = 0;
  #wake: () => void = () => {};
  #isOver = false;
  #left: Promise<JsMsg[]> | null = null;
  #failure: unknown = null;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
    this.#askForMore();
  }

  /**
   * What has come since the last call, at least one and at most a batch; null after `stop`.
   * @throws what a pull failed with
   */
  async next(): Promise<JsMsg[] | null> {
    while (this.#arrived.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#isOver) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    // What came in the same read of the socket belongs together.
    await new Promise(setImmediate);
    if (this.#isOver) return null;
    const batch = this.#arrived.splice(0, this.#options.batchMax);
    this.#askForMore();
    return batch;
  }

  /** Ends all pulls at once and asks anew: for when they may have been lost on the way. */
  renew(): void {
    for (const messages of this.#open) messages.stop();
  }

  /** Ends it; returns what has come and was not handed out, the same to all who ask. */
  stop(): Promise<JsMsg[]> {
    this.#left ??= this.#end();
    return this.#left;
  }

  async #end(): Promise<JsMsg[]> {
    this.#isOver = true;
    this.#wake();
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
        this.#arrived.push(message);
        this.#wake();
        this.#askForMore();
      }
    } catch (error) {
      this.#failure ??= error;
      this.#wake();
    } finally {
      if (messages) this.#open.delete(messages);
      this.#awaited -= left;
    }
  }
}
