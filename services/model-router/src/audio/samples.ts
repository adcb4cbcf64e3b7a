// Sums samples at rates that may change within a file, and converts them to seconds.

export class Samples {
  #seconds = 0;
  /** Length of the last counted packet. */
  lastSeconds = 0;
  packets = 0;

  add(samples: number, rateHz: number): void {
    this.lastSeconds = samples / rateHz;
    this.#seconds += this.lastSeconds;
    this.packets += 1;
  }

  get seconds(): number {
    return this.#seconds;
  }
}
