// How much of the processor those who compute may burst to while others answer: a neighbour who comes with a short
// command must find a core free, not one that it has to be given first.
//
// Weights (processor-credit.ts) decide who is next, but not at once: on the way of one command through its processes there
// are a dozen turns to wait for, each of some milliseconds. So while others are at work, those who compute leave a reserve
// of the host's cores idle. What is guaranteed to them they have in any case.
export const RESERVE_SHARE = 0.5;
/** Cores: on a large host some are free at any moment. */
export const RESERVE_CORES_MAX = 2;
/** Cores: the kernel takes no less of a short period. */
export const LIMIT_MIN = 0.05;
/** What is used is averaged over about so long. */
const AVERAGE_MS = 250;

/** What was used since the last look, in processor milliseconds. */
export interface HostUse {
  readonly elapsedMs: number;
  /** Of all cores together. */
  readonly idleMs: number;
  /** By those who compute. */
  readonly computingMs: number;
}

export class BurstLimits {
  readonly #cores: number;
  readonly #reserve: number;
  /** Cores that others than those who compute use, on average; undefined before the first look. */
  #others: number | undefined;

  /** @param cores of the host */
  constructor(cores: number) {
    this.#cores = cores;
    this.#reserve = Math.min(cores * RESERVE_SHARE, RESERVE_CORES_MAX);
  }

  look({ elapsedMs, idleMs, computingMs }: HostUse): void {
    if (elapsedMs <= 0) return;
    const others = Math.max(0, this.#cores - (idleMs + computingMs) / elapsedMs);
    const before = this.#others ?? others;
    this.#others = before + (others - before) * Math.min(1, elapsedMs / AVERAGE_MS);
  }

  /**
   * @param sizes cores that are guaranteed to each who computes
   * @param promised to all computers of the host
   * @returns cores that each of them may use beside others at work
   */
  limits(sizes: readonly number[], promised: number): number[] {
    const together = this.#cores - (this.#others ?? 0) - this.#reserve;
    const all = sizes.reduce((sum, size) => sum + size, 0);
    // On a host on which more is promised than it has, each guarantee is that much smaller.
    const kept = Math.min(1, this.#cores / promised);
    return sizes.map((size) => Math.max(LIMIT_MIN, size * kept, (together * size) / all));
  }
}
