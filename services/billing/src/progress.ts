// Wakes whoever waits for billing to get further.

export class Progress {
  #waiting = new Set<() => void>();
  #whole = false;

  /** Every row of the ledger is in the sums: not before they are recovered, and not while a batch was cut short. */
  get whole(): boolean {
    return this.#whole;
  }

  /** The sums were recovered. */
  recovered(): void {
    this.#whole = true;
    this.advanced();
  }

  /** A batch was cut short: some of its rows may be in the ledger and in no sum. */
  interrupted(): void {
    this.#whole = false;
  }

  /** Something was booked and acknowledged. */
  advanced(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
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
