// Looking again: while billing goes on, two collections are never read at the same moment, and what seems to be wrong may
// only be on its way. It is wrong when it still is after a bounded number of looks.

const LOOKS_MAX = 25;
const BETWEEN_LOOKS_MS = 200;
/** Waiting of one audit, all of it together: where a million rows are wrong, not each is waited for. */
const WAITING_MS_MAX = 60_000;

export class Patience {
  readonly #looksMax: number;
  #leftMs = WAITING_MS_MAX;

  constructor(looksMax = LOOKS_MAX) {
    this.#looksMax = looksMax;
  }

  /**
   * Calls `look` with what is still open until nothing is, or no time is left.
   * @param look returns those of the given that are still open; told when it is asked for the last time
   */
  async lookAgain<T>(
    items: readonly T[],
    look: (open: readonly T[], isLast: boolean) => Promise<T[]>,
  ): Promise<void> {
    let open: readonly T[] = items;
    for (let looks = 1; open.length > 0; looks += 1) {
      const isLast = looks === this.#looksMax || this.#leftMs <= 0;
      open = await look(open, isLast);
      if (isLast || open.length === 0) return;
      this.#leftMs -= BETWEEN_LOOKS_MS;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
    }
  }
}
