// Number of running commands on this host, and the moment when none runs. Background work waits for it.

export type ExecActivity = ReturnType<typeof createExecActivity>;

export function createExecActivity() {
  let running = 0;
  let waiters: (() => void)[] = [];
  return {
    begin(): void {
      running += 1;
    },
    end(): void {
      running -= 1;
      if (running > 0) return;
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    },
    /** Resolves when no command runs, or after `atMostMs`. */
    async quiet(atMostMs: number): Promise<void> {
      if (running === 0) return;
      const quiet = Promise.withResolvers<void>();
      const timer = setTimeout(quiet.resolve, atMostMs);
      waiters.push(quiet.resolve);
      await quiet.promise;
      clearTimeout(timer);
    },
  };
}
