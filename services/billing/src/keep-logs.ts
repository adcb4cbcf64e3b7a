// The owner of the first partition removes data past its retention: logs, lines of the audit log, alerts of budgets.
import { AUDIT_LOG_DAYS } from '@switchyard/contracts';
import { sleep } from '@switchyard/service';
import type { PartitionDeps } from './partition-deps.ts';
import { answered } from './store/answered.ts';
import { DAY_MS } from './store/buckets.ts';
import { logsEndBefore, removeLogsBefore } from './store/log-retention.ts';

const SWEEP_EVERY_MS = 3_600_000;
/** How long alerts are kept after the end of their period: longer than late charges can raise them. */
const ALERTS_DAYS = 14;

interface KeepLogsDeps extends Pick<PartitionDeps, 'store' | 'clock' | 'logger' | 'signal'> {
  /** Days that logs are kept; 0: for ever. The audit log has its own bound. */
  readonly logDays: number;
}

/**
 * Sweeps at once and then every hour until the signal is aborted. Never throws: a failed sweep is retried an hour
 * later.
 */
export async function keepLogs({ store, logDays, clock, logger, signal }: KeepLogsDeps): Promise<void> {
  while (!signal.aborted) {
    const now = clock.now();
    const daysAgo = (days: number) => new Date(now - days * DAY_MS);
    const before = logsEndBefore(now, logDays);
    const ended = { ends_at: { $lt: daysAgo(ALERTS_DAYS) }, published_at: { $ne: null } };
    const removed = (rows: number) => {
      if (rows > 0) logger.info({ rows, before }, 'old logs were removed');
    };
    const removals = await Promise.allSettled([
      answered(store.auditLog.deleteMany({ at: { $lt: daysAgo(AUDIT_LOG_DAYS) } })),
      answered(store.alerts.deleteMany(ended)),
      logDays === 0 ? null : removeLogsBefore(store, before, signal).then(removed),
    ]);
    for (const removal of removals)
      if (removal.status === 'rejected')
        logger.warn({ err: removal.reason }, 'old rows could not be removed; retrying in an hour');
    await sleep(SWEEP_EVERY_MS, clock, signal);
  }
}
