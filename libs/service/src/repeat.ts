// Work that is done again and again in the background: one round at a time, the next a while after the last has ended.
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import { passed } from './passed.ts';

export interface RepeatOptions {
  /** Milliseconds before the first round, and between the end of one and the start of the next. */
  readonly everyMs: number;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
  /** Logged as a warning, with the error, when a round fails; the next comes all the same. */
  readonly failed: string;
}

export interface Repeating {
  /** No round begins after this; resolves when the one that is on has ended. */
  stop(): Promise<void>;
}

/** Does the work every so often from now on, until it is stopped. */
export function repeat(
  { everyMs, clock, logger, failed }: RepeatOptions,
  work: () => Promise<void>,
): Repeating {
  const stopping = new AbortController();
  const { signal } = stopping;
  const rounds = async () => {
    for (;;) {
      await passed(everyMs, clock, signal);
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
