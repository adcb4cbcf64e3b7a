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

/** Of ascending values. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
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
