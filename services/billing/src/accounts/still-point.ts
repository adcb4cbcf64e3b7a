// Work that must not overlap: while batches are on their way nobody reads what was spent, and the reverse. A batch is on its
// way from its first log row to its last sum, and several may be.

export class StillPoint {
  #last: Promise<unknown> = Promise.resolve();
  readonly #moving = new Set<Promise<void>>();

  /** Runs the work alone, after all that was asked for before. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = Promise.all([this.#last, ...this.#moving]).then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  /**
   * Resolves when something may be moved, others beside it, after all that was asked for before to run alone.
   * @returns to be called when nothing moves any more
   */
  async move(): Promise<() => void> {
    const { promise: still, resolve } = Promise.withResolvers<void>();
    this.#moving.add(still);
    await this.#last;
    return () => {
      this.#moving.delete(still);
      resolve();
    };
  }
}
