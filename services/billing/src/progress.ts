// Notifies waiting callers of the progress of billing, and billing of waiting callers.

export class Progress {
  #waiting = new Set<() => void>();
  readonly #onHurry = new Set<() => void>();
  #complete = false;

  /** True when every row of the ledger is in the sums: after recovery, until a batch is cut short. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Marks the sums as recovered. */
  recovered(): void {
    this.#complete = true;
    this.advanced();
  }

  /** Marks the sums as incomplete: some rows of the failed batch may be in the ledger but not in the sums. */
  interrupted(): void {
    this.#complete = false;
  }

  /** Reports that events were booked and acknowledged. */
  advanced(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** Asks billing to book what has arrived without collecting more: a caller waits for it. */
  hurry(): void {
    for (const hurry of this.#onHurry) hurry();
  }

  /** Calls the function at each `hurry`. @returns a function that ends this */
  onHurry(hurry: () => void): () => void {
    this.#onHurry.add(hurry);
    return () => this.#onHurry.delete(hurry);
  }

  /** Resolves at the next advance, or after `ms` milliseconds. */
  changed(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
    });
  }
}
