// Splits long computations, so that other calls get the event loop every few milliseconds.
import { setImmediate } from 'node:timers/promises';

/** Maximum time without a pause; well below the 50 ms that other calls would notice. */
const TURN_MS = 10;

export class Turns {
  readonly #signal: AbortSignal;
  #startedAt = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether this turn is over; then `await turns.next()`. Cheap enough for an inner loop. */
  get over(): boolean {
    return performance.now() - this.#startedAt > TURN_MS;
  }

  /** Yields to the event loop. @throws the signal's reason when the caller has left. */
  async next(): Promise<void> {
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#startedAt = performance.now();
  }
}
