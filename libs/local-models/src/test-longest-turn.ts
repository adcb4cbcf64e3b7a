// For tests: how long a computation keeps the event loop from other calls.

/**
 * Milliseconds of the longest turn of the event loop during the work. Turns aim at 10 ms. Counted is what this thread
 * worked, not what it waited for on a busy machine.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let last = threadMs();
  let longest = 0;
  const measure = () => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const interval = setInterval(measure, 1);
  try {
    await work();
  } finally {
    clearInterval(interval);
  }
  measure();
  return longest;
}

/** Milliseconds that this thread has computed. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
