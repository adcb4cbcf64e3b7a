// Messages of one pull, handed out in batches of whatever has come meanwhile: a lone event is not kept waiting for
// company, and a flood is taken in large bites.
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';

export class Arrivals {
  readonly #messages: ConsumerMessages;
  readonly #finished: Promise<void>;
  #arrived: JsMsg[] = [];
  #wake: () => void = () => {};
  #over = false;
  #failure: unknown = null;

  constructor(messages: ConsumerMessages) {
    this.#messages = messages;
    this.#finished = this.#collect();
  }

  /**
   * All that has come since the last call, at least one; null when the pull is over.
   * @throws what ended the pull, if it was not its time or `stop`.
   */
  async next(): Promise<JsMsg[] | null> {
    while (this.#arrived.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#over) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    // What came in the same read of the socket belongs together.
    await new Promise(setImmediate);
    return this.take();
  }

  /** What has come and was not handed out yet. */
  take(): JsMsg[] {
    const batch = this.#arrived;
    this.#arrived = [];
    return batch;
  }

  /** Ends the pull; what has come already is still there to take. */
  async stop(): Promise<void> {
    this.#messages.stop();
    await this.#finished;
  }

  async #collect(): Promise<void> {
    try {
      for await (const message of this.#messages) {
        this.#arrived.push(message);
        this.#wake();
      }
    } catch (error) {
      this.#failure = error;
    }
    this.#over = true;
    this.#wake();
  }
}
