// A bound on waiting for something that cannot be cancelled.

/**
 * What the work brings, or `late()` thrown after `ms` milliseconds. The work goes on then.
 * @param tooLate is given what the work brings after that, to close it; else that is lost
 * @throws what the work throws
 */
export async function inTime<T>(
  work: Promise<T>,
  ms: number,
  late: () => Error,
  tooLate: (brought: T) => void = () => {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(late());
      work.then(tooLate, () => {}); // why it failed in the end is of no use to anybody
    }, ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
