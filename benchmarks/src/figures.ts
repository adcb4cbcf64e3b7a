// Times of many runs of one thing, as quantiles.
export interface Figures {
  /** Milliseconds. */
  p50: number;
  p95: number;
  p99: number;
  count: number;
  perSecond: number;
}

export function figuresOf(times: readonly number[], seconds: number): Figures {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => quantile(sorted, share);
  return {
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    count: sorted.length,
    perSecond: sorted.length / seconds,
  };
}

/** By nearest rank, of ascending values: the least value that this share of all does not exceed. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The middle value; of an even count, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/**
 * Repeats a measurement until two in a row differ by at most a share of the larger one.
 * @returns false when no two runs did
 */
export async function untilSteady(
  measure: () => Promise<number>,
  { share, runsMax }: { share: number; runsMax: number },
): Promise<boolean> {
  let last = await measure();
  for (let runs = 1; runs < runsMax; runs += 1) {
    const next = await measure();
    if (Math.abs(next - last) <= share * Math.max(next, last)) return true;
    last = next;
  }
  return false;
}

/** Runs the work and adds how long it took, in milliseconds; one that fails fails the benchmark. */
export async function timed<T>(times: number[], work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  times.push(performance.now() - startedAt);
  return result;
}

export function atOnce<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, work));
}
