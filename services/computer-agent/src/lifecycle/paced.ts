// Passes on what changes faster than anybody wants to hear of it: the first at once, then at most one every so often, each
// time the latest there is, and one at a time.
import type { Clock } from '@switchyard/service';

export interface PacedOptions<T> {
  /** Milliseconds from the beginning of one to the beginning of the next, at least. */
  readonly everyMs: number;
  readonly clock: Pick<Clock, 'after'>;
  /** Must not reject. */
  readonly pass: (value: T) => Promise<void>;
}

export class Paced<T> {
  readonly #on: PacedOptions<T>;
  #latest: { readonly value: T } | null = null;
  #passing: Promise<void> | null = null;
  /** Ends the pause that is on. */
  #endPause: (() => void) | null = null;
  #stopped = false;

  constructor(options: PacedOptions<T>) {
    this.#on = options;
  }

  give(value: T): void {
    this.#latest = { value };
    this.#next();
  }

  /** Nothing is passed on from now on; resolves when nothing is on its way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#endPause?.();
    await this.#passing;
  }

  #next(): void {
    if (this.#latest === null || this.#passing || this.#endPause || this.#stopped) return;
    const { everyMs, clock, pass } = this.#on;
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
