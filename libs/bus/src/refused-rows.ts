// Limits the events of refused calls per key: a key that repeats refused calls must fill neither the stream nor
// the logs.
const MINUTE_MS = 60_000;
/** Events of refused calls per key, minute and process. */
export const REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX = 600;

export class RefusedRows {
  readonly #now: () => number;
  #minute = Number.NEGATIVE_INFINITY;
  #rows = new Map<string, number>();
  /** Events dropped since this process started. */
  dropped = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether the key may cause one more event; counts it. */
  take(keyId: string): boolean {
    const minute = Math.floor(this.#now() / MINUTE_MS);
    if (minute !== this.#minute) [this.#minute, this.#rows] = [minute, new Map()];
    const rows = (this.#rows.get(keyId) ?? 0) + 1;
    this.#rows.set(keyId, rows);
    if (rows <= REFUSED_ROWS_PER_KEY_PER_MINUTE_MAX) return true;
    this.dropped += 1;
    return false;
  }
}
