// Work that must not overlap: one piece at a time, in the order of asking.

export class Lock {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Nobody holds it and nobody waits for it. */
  get free(): boolean {
    return this.#waiting === 0;
  }

  /** Runs `work` when all that asked before has ended, however it ended. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    this.#waiting += 1;
    const mine = this.#last.then(work);
    this.#last = mine
      .catch(() => {}) // whoever asked hears of it; the next one is not concerned
      .then(() => {
        this.#waiting -= 1;
      });
    return mine;
  }
}
