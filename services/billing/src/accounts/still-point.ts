// Work that must not overlap: while a batch is booked, nobody reads what was spent, and the reverse.

export class StillPoint {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work after all that was asked for before. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }
}
