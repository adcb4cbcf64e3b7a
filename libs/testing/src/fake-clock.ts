/** A clock that a test holds still and lets pass. */
import type { Clock } from '@switchyard/service';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();

  /** @param now milliseconds since the epoch at which it begins */
  constructor(now: number = Date.now()) {
    this.#now = Math.floor(now);
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** How many timers have been set that are neither due yet nor taken back. */
  get waiting(): number {
    return this.#timers.size;
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#monotonic + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /**
   * Lets time pass, running what falls due in order; what that work sets for later runs too if it falls due. Work that
   * it starts and that waits for something else (a server, a file) is not waited for.
   */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (;;) {
      const next = this.#nextBy(end);
      if (!next) break;
      this.#moveTo(Math.max(next.at, this.#monotonic));
      this.#timers.delete(next);
      next.run();
    }
    this.#moveTo(end);
  }

  /** Moves the wall clock alone, as an operator or NTP does. */
  step(ms: number): void {
    this.#now += ms;
  }

  #moveTo(monotonic: number): void {
    this.#now += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }

  #nextBy(end: number): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.#timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer;
    return next;
  }
}
