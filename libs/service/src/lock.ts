// Work that must not overlap: runs one piece at a time, in the order of calls.

export class Lock {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** True when the lock is neither held nor waited for. */
  get free(): boolean {
    return this.#waiting === 0;
  }

  /** Runs `work` after all earlier work has ended, successfully or not. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    this.#waiting += 1;
    const mine = this.#last.then(work);
    this.#last = mine
      .catch(() => {}) // the error reaches its own caller and must not affect the next one
      .then(() => {
        this.#waiting -= 1;
      });
    return mine;
  }
}
