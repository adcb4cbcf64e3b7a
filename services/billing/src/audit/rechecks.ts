// Repeated checks. While billing runs, two collections are never read at the same moment, so a difference may be
// temporary. It counts when it persists after a bounded number of checks.

const CHECKS_MAX = 25;
const BETWEEN_CHECKS_MS = 200;
/** Total waiting time of one audit: a million wrong rows must not each cost a wait. */
const WAITING_MS_MAX = 60_000;

export class Rechecks {
  readonly #checksMax: number;
  #leftMs = WAITING_MS_MAX;

  constructor(checksMax = CHECKS_MAX) {
    this.#checksMax = checksMax;
  }

  /**
   * Calls `check` with the open items until none is open, or the time is over.
   * @param check returns the items that are still open; its flag marks the last call
   */
  async recheck<T>(
    items: readonly T[],
    check: (open: readonly T[], isLast: boolean) => Promise<T[]>,
  ): Promise<void> {
    let open: readonly T[] = items;
    for (let checks = 1; open.length > 0; checks += 1) {
      const isLast = checks === this.#checksMax || this.#leftMs <= 0;
      open = await check(open, isLast);
      if (isLast || open.length === 0) return;
      this.#leftMs -= BETWEEN_CHECKS_MS;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_CHECKS_MS));
    }
  }
}
