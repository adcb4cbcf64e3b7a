// The owner of the first partition removes logs past their retention.
import { passed } from '@switchyard/service';
import type { PartitionDeps } from './partition-deps.ts';
import { logsEndBefore, removeLogsBefore } from './store/log-retention.ts';

const SWEEP_EVERY_MS = 3_600_000;

interface KeepLogsDeps extends Pick<PartitionDeps, 'store' | 'clock' | 'logger' | 'signal'> {
  /** Days that logs are kept; 0: for ever. */
  readonly logDays: number;
}

/**
 * Sweeps at once and then every hour until the signal is aborted. Never throws: a failed sweep is retried an hour
 * later.
 */
export async function keepLogs(deps: KeepLogsDeps): Promise<void> {
  const { store, logDays, clock, logger, signal } = deps;
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
