// The owner of the partition removes logs that are older than they are to be kept, now and then.
import { type Clock, type Logger, passed } from '@switchyard/service';
import { logsEndBefore, removeLogsBefore } from './store/log-retention.ts';
import type { Store } from './store/store.ts';

const SWEEP_EVERY_MS = 3_600_000;

export interface KeepLogsOptions {
  readonly store: Store;
  /** Days that logs are kept; 0: for ever. */
  readonly logDays: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Sweeps at once and each hour until the signal is aborted. Never throws: what fails is tried an hour later. */
export async function keepLogs(options: KeepLogsOptions): Promise<void> {
  const { store, logDays, clock, logger, signal } = options;
  if (logDays === 0) return;
  while (!signal.aborted) {
    try {
      const before = logsEndBefore(clock.now(), logDays);
      const rows = await removeLogsBefore(store, before, signal);
      if (rows > 0) logger.info({ rows, before }, 'logs that were too old have been removed');
    } catch (error) {
      logger.warn({ err: error }, 'old logs could not be removed; it is tried again in an hour');
    }
    await passed(SWEEP_EVERY_MS, clock, signal);
  }
}
