// Ownership of a partition. While this instance holds the lease it books the events and answers the questions of the
// partition. The lease avoids duplicate work; the ledger is exact without it.
import { once } from 'node:events';
import { type Lease, serve } from '@switchyard/bus';
import { openAccounts } from './accounts/open-accounts.ts';
import type { AccountRecords } from './accounts/records.ts';
import { BudgetAlerts } from './alerts/budget-alerts.ts';
import { publishAlerts } from './alerts/publish-alerts.ts';
import { BooksWatch } from './audit/watch.ts';
import { bookEvents } from './booking.ts';
import { ensureConsumer, ensureRefusalsConsumer } from './consumer.ts';
import { keepLogs } from './keep-logs.ts';
import { logRefusals } from './log-refusals.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { namesEver } from './partitions/partition.ts';
import { Progress } from './progress.ts';
import { register } from './register.ts';

const VERSION = '0.1.0';
const DESCRIPTION = 'the ledger, Usage and Logs';

export interface OwnerDeps
  extends Pick<PartitionDeps, 'bus' | 'store' | 'partition' | 'logger' | 'clock' | 'signal'> {
  readonly lease: Lease;
  readonly records: AccountRecords;
  /** Days that logs are kept; 0: for ever. */
  readonly logDays: number;
  /** Milliseconds between two checks of the books; 0: none. */
  readonly auditEveryMs: number;
  /** Called with the check of the books when this instance owns the partition. */
  readonly onWatch: (watch: BooksWatch) => void;
  /** Called when this instance begins to serve the partition. */
  readonly onServing: () => void;
}

/**
 * Owns a partition whose lease is held, until the signal is aborted.
 * @throws the error that prevented serving; the lease is returned in this case too
 */
export async function ownPartition(deps: OwnerDeps): Promise<void> {
  const { bus, store, partition, records, logger, clock, logDays, auditEveryMs, signal } = deps;
  const failed = new AbortController();
  const over = AbortSignal.any([signal, failed.signal]);
  const progress = new Progress();
  const opened = openAccounts({ bus, store, partition, records, progress, clock, logger });
  const { accounts } = opened;
  const { lock } = accounts;
  const watch = new BooksWatch({ bus, store, partition, lock, clock, logger, everyMs: auditEveryMs });
  const onBooked: BooksWatch['booked'] = (rows) => watch.booked(rows);
  const alerts = new BudgetAlerts({ store, clock, records, partitions: namesEver(partition.layout) });
  const booking = bookEvents({
    ...{ bus, store, partition, progress, accounts, alerts, onBooked, logger },
    signal: over,
  });
  const alerting = publishAlerts({ bus, store, partition, clock, logger, signal: over });
  const watching = watch.start(over);
  // Logs and the audit log are shared by all partitions, so one owner removes their old lines.
  const logging =
    partition.index === 0
      ? [
          keepLogs({ store, logDays, clock, logger, signal: over }),
          logRefusals({ bus, store, progress, logger, signal: over }),
        ]
      : [];
  try {
    await ensureConsumer(bus, partition); // every answer reads the progress of this consumer
    await ensureRefusalsConsumer(bus);
    const host = await serve(bus, { name: 'billing', version: VERSION, description: DESCRIPTION });
    register(host, { bus, store, partition, progress, accounts, records, watch, clock });
    deps.onWatch(watch);
    const admitting = opened.admit(over).catch((error: unknown) => {
      logger.error({ err: error }, 'opening the budgets failed; the partition is returned');
      failed.abort();
    });
    logger.info({ lease: partition.lease, layout: partition.layout.epoch }, 'the partition is ours');
    deps.onServing();
    if (!over.aborted) await once(over, 'abort');
    opened.close();
    await host.drain();
    await admitting;
  } finally {
    failed.abort();
    opened.close();
    await booking;
    await watching?.stop();
    await alerting.stop();
    await Promise.all(logging);
    await deps.lease.release();
  }
}
