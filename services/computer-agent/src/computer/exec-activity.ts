// How many commands run on this host now, and the moment when none does: background work waits for it.

export interface ExecActivity {
  begin(): void;
  end(): void;
  /** Resolves when no command runs, or after `atMostMs`. */
  quiet(atMostMs: number): Promise<void>;
}

export function createExecActivity(): ExecActivity {
  let running = 0;
  let waiters: (() => void)[] = [];
  return {
    begin() {
      running += 1;
    },
    end() {
      running -= 1;
      if (running > 0) return;
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    },
    async quiet(atMostMs) {
      if (running === 0) return;
      const quiet = Promise.withResolvers<void>();
      const timer = setTimeout(quiet.resolve, atMostMs);
      waiters.push(quiet.resolve);
      await quiet.promise;
      clearTimeout(timer);
    },
  };
}
