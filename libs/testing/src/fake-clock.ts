/** A clock that a test stops and advances. */
import type { Clock } from '@switchyard/service';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class FakeClock implements Clock {
  /** Time of day at monotonic time 0. */
  #start: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();

  /** @param now start time in milliseconds since the epoch */
  constructor(now: number = Date.now()) {
    this.#start = Math.floor(now);
  }

  now(): number {
    return Math.floor(this.#start + this.#monotonic);
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Number of timers that are neither due nor cancelled. */
  get waiting(): number {
    return this.#timers.size;
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#monotonic + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /**
   * Advances the time and runs due timers in order, including timers that they set. Asynchronous work that they start
   * (a server, a file) is not awaited.
   */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (;;) {
      const next = this.#nextBy(end);
      if (!next) break;
      this.#monotonic = Math.max(next.at, this.#monotonic);
      this.#timers.delete(next);
      next.run();
    }
    this.#monotonic = end;
  }

  /** Moves only the wall clock, as an operator or NTP does. */
  step(ms: number): void {
    this.#start += ms;
  }

  #nextBy(end: number): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.#timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer;
    return next;
  }
}
