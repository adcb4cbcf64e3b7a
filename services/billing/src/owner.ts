// Owning a partition: while its lease is ours we book its events and answer its questions; when it is lost, or given
// back, we stop both. The lease keeps things quiet and answers in one place; the ledger is exact without.
import { type Bus, type Lease, serve } from '@switchyard/bus';
import type { Clock, Logger } from '@switchyard/service';
import { openAccounts } from './accounts/open-accounts.ts';
import type { AccountRecords } from './accounts/records.ts';
import { BooksWatch } from './audit/watch.ts';
import { bookEvents } from './booking.ts';
import { ensureConsumer } from './consumer.ts';
import { keepLogs } from './keep-logs.ts';
import type { Partition } from './partitions/partition.ts';
import { Progress } from './progress.ts';
import { register } from './register.ts';
import type { Store } from './store/store.ts';

const VERSION = '0.1.0';
const DESCRIPTION = 'the ledger, Usage and Logs';

export interface OwnerOptions {
  readonly bus: Bus;
  readonly store: Store;
  readonly partition: Partition;
  readonly lease: Lease;
  readonly records: AccountRecords;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Days that logs are kept; 0: for ever. */
  readonly logDays: number;
  /** Milliseconds between two looks at the books; 0: none. */
  readonly auditEveryMs: number;
  /** Told what looks at the books as long as the partition is ours. */
  readonly onWatch: (watch: BooksWatch) => void;
  /** Ends the ownership: the batch in hand is booked, the questions in hand are answered, the lease is given back. */
  readonly signal: AbortSignal;
  /** Called when it begins to serve. */
  readonly onServing: () => void;
}

/**
 * Owns a partition whose lease is held, until the signal is aborted.
 * @throws whatever kept it from serving; the lease is given back then too.
 */
export async function ownPartition(options: OwnerOptions): Promise<void> {
  const { bus, store, partition, records, logger, clock, logDays, auditEveryMs, signal } = options;
  const failed = new AbortController();
  const over = AbortSignal.any([signal, failed.signal]);
  const progress = new Progress();
  const opened = openAccounts({ bus, store, partition, records, progress, clock, logger });
  const { accounts } = opened;
  const { still } = accounts;
  const watch = new BooksWatch({ bus, store, partition, still, clock, logger, everyMs: auditEveryMs });
  const onBooked: BooksWatch['booked'] = (rows) => watch.booked(rows);
  const booking = bookEvents({ bus, store, partition, progress, accounts, onBooked, logger, signal: over });
  const watching = watch.run(over);
  // Logs are those of all partitions together: one of the owners is enough.
  const sweeping =
    partition.index === 0 ? keepLogs({ store, logDays, clock, logger, signal: over }) : Promise.resolve();
  try {
    await ensureConsumer(bus, partition); // every answer asks it how far we are
    const host = await serve(bus, { name: 'billing', version: VERSION, description: DESCRIPTION });
    register(host, { bus, store, partition, progress, accounts, records, watch, clock });
    options.onWatch(watch);
    const admitting = opened.admit(over).catch((error: unknown) => {
      logger.error({ err: error }, 'the budgets could not be opened; another instance may');
      failed.abort();
    });
    logger.info({ lease: partition.lease, layout: partition.layout.epoch }, 'the partition is ours');
    options.onServing();
    await aborted(over);
    opened.close();
    await host.drain();
    await admitting;
  } finally {
    failed.abort();
    opened.close();
    await booking;
    await watching;
    await sweeping;
    await options.lease.release();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
