// A bound on waiting for something that cannot be cancelled.

/**
 * What the work brings, or `late()` thrown after `ms` milliseconds. The work goes on then, and what it brings is lost.
 * @throws what the work throws
 */
export async function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
