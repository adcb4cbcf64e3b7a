// A time limit for work that cannot be cancelled.

/**
 * The result of the work, or `timeoutError()` thrown after `ms` milliseconds. The work continues in that case.
 * @param onLateResult receives a late result, to close it; without it, a late result is dropped
 * @throws any error of the work
 */
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number,
  timeoutError: () => Error,
  onLateResult: (brought: T) => void = () => {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(timeoutError());
      work.then(onLateResult, () => {}); // a late failure is of no interest
    }, ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
