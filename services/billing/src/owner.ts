// Owning the partition: while the lease is ours we book its events and answer its questions; when it is lost we stop
// both and queue up for it again. The lease keeps things quiet and answers in one place; the ledger is exact without.
import { type Bus, holdLease, serve } from '@switchyard/bus';
import type { Clock, Logger } from '@switchyard/service';
import { openAccounts } from './accounts/open-accounts.ts';
import { BooksWatch } from './audit/watch.ts';
import { bookEvents } from './booking.ts';
import { ensureConsumer } from './consumer.ts';
import { keepLogs } from './keep-logs.ts';
import { Progress } from './progress.ts';
import { register } from './register.ts';
import { PARTITION } from './store/partition.ts';
import type { Store } from './store/store.ts';

export const LEASE = `billing-${PARTITION}`;
const VERSION = '0.1.0';
const DESCRIPTION = 'the ledger, Usage and Logs';
const AGAIN_MS = 500;

export interface OwnerOptions {
  readonly bus: Bus;
  readonly store: Store;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Days that logs are kept; 0: for ever. */
  readonly logDays: number;
  /** Milliseconds between two looks at the books; 0: none. */
  readonly auditEveryMs: number;
  /** Told what looks at the books while the partition is ours, and null when it is no longer. */
  readonly onWatch?: (watch: BooksWatch | null) => void;
  /** Ends the ownership: the batch in hand is booked, the questions in hand are answered, the lease is given back. */
  readonly signal: AbortSignal;
  /** Called each time that this instance begins to serve. */
  readonly onServing?: () => void;
}

/** Owns the partition whenever it can, until the signal is aborted. */
export async function ownPartition(options: OwnerOptions): Promise<void> {
  const { signal, logger } = options;
  while (!signal.aborted)
    try {
      await ownOnce(options);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ err: error }, 'the partition could not be taken; it is tried again');
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
}

async function ownOnce(options: OwnerOptions): Promise<void> {
  const { bus, store, logger, clock, logDays, auditEveryMs, signal, onServing, onWatch } = options;
  const lost = new AbortController();
  const lease = await holdLease({ bus, name: LEASE, onLost: () => lost.abort(), signal });
  const over = AbortSignal.any([signal, lost.signal]);
  const progress = new Progress();
  const opened = await openAccounts({ bus, store, progress, clock, logger });
  const { accounts, orgs } = opened;
  const { still } = accounts;
  const watch = new BooksWatch({ bus, store, still, clock, logger, everyMs: auditEveryMs });
  const onBooked: BooksWatch['booked'] = (rows) => watch.booked(rows);
  const booking = bookEvents({ bus, store, progress, accounts, onBooked, logger, signal: over });
  const watching = watch.run(over);
  const sweeping = keepLogs({ store, logDays, clock, logger, signal: over });
  try {
    await ensureConsumer(bus); // every answer asks it how far we are
    const host = await serve(bus, { name: 'billing', version: VERSION, description: DESCRIPTION });
    register(host, { bus, store, progress, accounts, orgs, watch, clock });
    onWatch?.(watch);
    const admitting = opened.admit(over).catch((error: unknown) => {
      logger.error({ err: error }, 'the budgets could not be opened; another instance may');
      lost.abort();
    });
    logger.info({ lease: LEASE }, 'the partition is ours');
    onServing?.();
    await aborted(over);
    opened.close();
    await host.drain();
    await admitting;
  } finally {
    lost.abort();
    onWatch?.(null);
    opened.close();
    await booking;
    await watching;
    await sweeping;
    await lease.release();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
