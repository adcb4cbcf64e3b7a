// A count of samples at their rates, which may change within a file, and the seconds that they come to.

export class Samples {
  #seconds = 0;
  /** Of the packet counted last. */
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

  /**
   * What encoders put before and after the sound is told in the file's head, where it could lie: it is believed as far as
   * it comes to no more than so many seconds.
   */
  lessTrim(trimSeconds: number, believedMax: number): number {
    const believed = trimSeconds > 0 && trimSeconds <= believedMax + EPSILON_SECONDS ? trimSeconds : 0;
    return Math.max(0, this.#seconds - believed);
  }
}

/** Less than a sample at any rate. */
const EPSILON_SECONDS = 1e-6;
