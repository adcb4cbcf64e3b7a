// Limits how many images a host pulls at the same time: the agent decompresses and checks each layer itself, between the
// commands of its computers. Pulls take turns in the order of requests, one of each org, since a registry may be slow.

interface Waiter {
  readonly org: string | undefined;
  readonly admit: () => void;
}

export class PullTurns {
  readonly #max: number;
  /** The orgs whose pulls go on. */
  readonly #taken: (string | undefined)[] = [];
  readonly #waiting = new Set<Waiter>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Resolves when a turn is free, which `end` ends.
   * @param org undefined: of no org, so only the host's limit holds
   * @throws the reason of `signal`; there is no turn then
   */
  async take(org: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const turn = Promise.withResolvers<void>();
    const waiter = { org, admit: turn.resolve };
    const onAbort = () => {
      if (this.#waiting.delete(waiter)) turn.reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(waiter);
    this.#admit();
    await turn.promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Passes the turn on to the request that waits longest. */
  end(org: string | undefined): void {
    this.#taken.splice(this.#taken.indexOf(org), 1);
    this.#admit();
  }

  #admit(): void {
    for (const waiter of this.#waiting) {
      if (this.#taken.length >= this.#max) return;
      if (waiter.org !== undefined && this.#taken.includes(waiter.org)) continue;
      this.#waiting.delete(waiter);
      this.#taken.push(waiter.org);
      waiter.admit();
    }
  }
}
