// Limits how many images a host pulls at the same time: the agent decompresses and checks each layer itself, between the
// commands of its computers. Pulls take turns in the order of requests.

export class PullTurns {
  readonly #max: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves when a turn is free, which `end` ends. @throws the reason of `signal`; there is no turn then */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#taken < this.#max) {
      this.#taken += 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    const onAbort = () => {
      if (this.#waiting.delete(turn.resolve)) turn.reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(turn.resolve);
    await turn.promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Passes the turn on to the request that waits longest. */
  end(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else this.#taken -= 1;
  }
}
