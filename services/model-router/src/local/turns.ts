// Long computations beside other calls: they give the event loop back every few milliseconds.
import { setImmediate } from 'node:timers/promises';

/** What one call computes without a pause; well under the 50 ms that other calls of this process may notice. */
const TURN_MS = 10;

export class Turns {
  readonly #signal: AbortSignal;
  #startedAt = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether this turn has been long enough: then `await turns.next()`. Cheap enough for an inner loop. */
  get over(): boolean {
    return performance.now() - this.#startedAt > TURN_MS;
  }

  /** Lets others have their turn. @throws the signal's reason when the caller is gone. */
  async next(): Promise<void> {
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#startedAt = performance.now();
  }
}
