// Wakes whoever waits for billing to get further.

export class Progress {
  #waiting = new Set<() => void>();

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
