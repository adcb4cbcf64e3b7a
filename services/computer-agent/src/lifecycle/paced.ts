// Passes on a frequently changing value: the first at once, then the latest at a limited rate, one call at a time.
import type { Clock } from '@switchyard/service';

interface PacedDeps<T> {
  /** Minimum milliseconds between the starts of two calls. */
  readonly everyMs: number;
  readonly clock: Pick<Clock, 'after'>;
  /** Must not reject. */
  readonly pass: (value: T) => Promise<void>;
}

export class Paced<T> {
  readonly #deps: PacedDeps<T>;
  #latest: { readonly value: T } | null = null;
  #passing: Promise<void> | null = null;
  /** Ends the current pause. */
  #endPause: (() => void) | null = null;
  #stopped = false;

  constructor(deps: PacedDeps<T>) {
    this.#deps = deps;
  }

  give(value: T): void {
    this.#latest = { value };
    this.#next();
  }

  /** Passes on nothing further. Resolves when no call is in progress. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPause?.();
    await this.#passing;
  }

  #next(): void {
    if (this.#latest === null || this.#passing || this.#endPause || this.#stopped) return;
    const { everyMs, clock, pass } = this.#deps;
    const { value } = this.#latest;
    this.#latest = null;
    this.#endPause = clock.after(everyMs, () => {
      this.#endPause = null;
      this.#next();
    });
    this.#passing = pass(value).finally(() => {
      this.#passing = null;
      this.#next();
    });
  }
}
