// Keeps batches and reads of sums apart: each runs alone, in the order of the requests. A batch lasts from its first
// log row to its last sum.

export class BookingLock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work alone, after everything that was requested before. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
