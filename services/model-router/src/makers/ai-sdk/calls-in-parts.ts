// Splits a request that exceeds the maker's limit per call into several calls: in order, a few at a time, all or none.

/** Concurrent calls of one request; a maker's own limits apply per minute and account. */
const CALLS_AT_ONCE_MAX = 4;

/** The items in parts of at most `size`, in order. */
export function inParts<T>(items: readonly T[], size: number): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < items.length; at += size) parts.push(items.slice(at, at + size));
  return parts;
}

/**
 * The results of `call` in the order of the parts. The first failure cancels the running calls, since a partial answer
 * is useless.
 */
export async function callEach<T, R>(
  parts: readonly T[],
  signal: AbortSignal,
  call: (part: T, index: number, signal: AbortSignal) => PromiseLike<R>,
): Promise<R[]> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const results: R[] = new Array(parts.length);
  let next = 0;
  const work = async () => {
    for (let index = next++; index < parts.length; index = next++) {
      both.throwIfAborted();
      results[index] = await call(parts[index] as T, index, both);
    }
  };
  const workers = Array.from({ length: Math.min(CALLS_AT_ONCE_MAX, parts.length) }, work);
  try {
    await Promise.all(workers);
  } catch (error) {
    ending.abort(error);
    await Promise.allSettled(workers);
    throw error;
  }
  return results;
}

/** The sum of all counts; undefined when a part has no count. */
export function sumOfAll(counts: readonly (number | null | undefined)[]): number | undefined {
  let sum = 0;
  for (const count of counts) {
    if (count === null || count === undefined) return undefined;
    sum += count;
  }
  return sum;
}
