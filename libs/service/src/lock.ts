// Work that must not overlap: runs one piece at a time, in the order of calls.

export class Lock {
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** Pieces of work that have not ended. */
  get pending(): number {
    return this.#pending;
  }

  /** True when the lock is neither held nor waited for. */
  get free(): boolean {
    return this.#pending === 0;
  }

  /** Runs `work` after all earlier work has ended, successfully or not. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    this.#pending += 1;
    const mine = this.#last.then(work).finally(() => {
      this.#pending -= 1;
    });
    this.#last = mine.catch(() => {}); // the error reaches its own caller and must not affect the next one
    return mine;
  }
}

/** A lock for each key, while it is in use. */
export class Locks {
  readonly #locks = new Map<string, Lock>();

  /** Runs `work` after all earlier work of the key has ended. */
  async run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    const lock = this.#locks.get(key) ?? new Lock();
    this.#locks.set(key, lock);
    try {
      return await lock.run(work);
    } finally {
      if (lock.free) this.#locks.delete(key);
    }
  }

  /** Resolves when the work of all keys until now has ended. */
  async idle(): Promise<void> {
    await Promise.all([...this.#locks.values()].map((lock) => lock.run(() => {})));
  }
}
