// Repeated background work: one round at a time, with a pause after the end of each.
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import { sleep } from './sleep.ts';

interface RepeatOptions {
  /** Milliseconds before the first round, and between the end of one round and the start of the next. */
  readonly everyMs: number;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
  /** Logged as a warning, with the error, when a round fails; the next round runs anyway. */
  readonly failed: string;
}

export interface Repeating {
  /** No round starts after this; resolves when the current round has ended. */
  stop(): Promise<void>;
}

/** Repeats the work until it is stopped. */
export function repeat(
  { everyMs, clock, logger, failed }: RepeatOptions,
  work: () => Promise<void>,
): Repeating {
  const stopping = new AbortController();
  const { signal } = stopping;
  const rounds = async () => {
    for (;;) {
      await sleep(everyMs, clock, signal);
      if (signal.aborted) return;
      try {
        await work();
      } catch (error) {
        logger.warn({ err: error }, failed);
      }
    }
  };
  const running = rounds();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
