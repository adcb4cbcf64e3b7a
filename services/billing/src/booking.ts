// The loop that books events: pull, read, write, acknowledge. Whatever goes wrong, nothing is acknowledged that is not
// on disk, the messages come again, the ledger is read anew, and it goes on.
import type { Consumer, JsMsg } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';
import type { Logger } from '@switchyard/service';
import type { Accounts } from './accounts/accounts.ts';
import { Arrivals } from './arrivals.ts';
import { ensureConsumer } from './consumer.ts';
import { assertUnmoved, LayoutMoved } from './partitions/layout.ts';
import type { Partition } from './partitions/partition.ts';
import type { Progress } from './progress.ts';
import { readBatch, rejectedOf } from './read-batch.ts';
import type { LedgerRow, Rejected } from './store/documents.ts';
import { ensureIndexes } from './store/indexes.ts';
import { LedgerWriter } from './store/ledger-writer.ts';
import { AnotherWriter } from './store/mongo-errors.ts';
import { storeRejected } from './store/rejected.ts';
import type { Store } from './store/store.ts';

/** Messages of one pull, and so of one batch, at the most. */
export const BATCH_MESSAGES_MAX = 500;
/** A pull that has not brought its fill is asked for anew after this time. */
const PULL_MS = 5_000;
/** A pull that outlives its time was lost on the way, with the link that it was sent on. */
const PULL_LATE_MS = 1_000;

const AGAIN_MS_MIN = 50;
const AGAIN_MS_MAX = 2_000;

export interface BookingOptions {
  readonly bus: Bus;
  readonly store: Store;
  /** Whose events are booked; those of others are passed over. */
  readonly partition: Partition;
  readonly progress: Progress;
  /** Told of the rows of each batch, once they are written and folded. */
  readonly onBooked?: (rows: readonly LedgerRow[]) => void;
  /** Told of every row; nobody reads them while a batch is written. */
  readonly accounts: Accounts;
  readonly logger: Logger;
  /** Ends the loop after the batch that it is at. */
  readonly signal: AbortSignal;
}

interface Booking extends BookingOptions {
  readonly writer: LedgerWriter;
}

/** Books events until the signal is aborted. Never throws: what fails is tried again, for as long as it takes. */
export async function bookEvents(options: BookingOptions): Promise<void> {
  const { signal, logger } = options;
  let failures = 0;
  while (!signal.aborted)
    try {
      await bookUntilOver(options, () => {
        failures = 0;
      });
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      report(error, failures, logger);
      await pause(Math.min(AGAIN_MS_MIN * 2 ** (failures - 1), AGAIN_MS_MAX), signal);
    }
}

/** With a writer of its own: one that has failed may still have an operation under way. */
async function bookUntilOver(options: BookingOptions, onBooked: () => void): Promise<void> {
  const { bus, store, partition, accounts, logger, signal, onBooked: told = () => {} } = options;
  await ensureIndexes(store);
  await assertUnmoved(store, partition.layout);
  const consumer = await ensureConsumer(bus, partition);
  const writer = new LedgerWriter({
    store,
    partition: partition.name,
    logger,
    onBooked: (rows) => {
      accounts.booked(rows);
      told(rows);
    },
  });
  await accounts.still.run(async () => {
    await writer.recover(signal);
    // Behind the fence of another layout nothing may be booked: it is read after the last number was.
    await assertUnmoved(store, partition.layout);
    accounts.forget(); // an earlier batch may have ended in the middle, and what it wrote was folded just now
  });
  while (!signal.aborted) {
    await bookOnePull(consumer, { ...options, writer });
    onBooked();
  }
  await writer.close();
}

async function bookOnePull(consumer: Consumer, options: Booking): Promise<void> {
  const { bus, signal } = options;
  const pull = await consumer.fetch({ max_messages: BATCH_MESSAGES_MAX, expires: PULL_MS });
  const arrivals = new Arrivals(pull);
  const stop = () => void arrivals.stop();
  const late = setTimeout(stop, PULL_MS + PULL_LATE_MS);
  const forget = bus.onReconnect(stop);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (let batch = await arrivals.next(); batch; batch = await arrivals.next())
      await bookBatch(batch, options);
  } finally {
    clearTimeout(late);
    forget();
    signal.removeEventListener('abort', stop);
    await arrivals.stop();
    // What came and was not looked at is given back at once, instead of after `ack_wait`.
    giveBack(arrivals.take(), bus);
  }
}

async function bookBatch(messages: JsMsg[], options: Booking): Promise<void> {
  const { bus, store, partition, writer, progress, accounts, logger } = options;
  try {
    const ours = messages.filter(({ subject }) => partition.hasEvent(subject));
    const batch = readBatch(ours, logger);
    await reject(store, batch.rejected, logger);
    const { entries } = batch;
    const conflicts = entries.length === 0 ? [] : await accounts.still.run(() => writer.append(entries));
    const refused = new Set(batch.rejectedMessages);
    const contradictions: Rejected[] = [];
    for (const { entry, reason } of conflicts) {
      const message = batch.sources.get(entry);
      if (!message) continue;
      refused.add(message);
      contradictions.push(rejectedOf(message, reason));
    }
    await reject(store, contradictions, logger);
    for (const message of messages)
      if (refused.has(message)) message.term('rejected by billing');
      else message.ack();
    progress.advanced();
  } catch (error) {
    giveBack(messages, bus);
    throw error;
  }
}

async function reject(store: Store, rejected: readonly Rejected[], logger: Logger): Promise<void> {
  if (rejected.length === 0) return;
  await storeRejected(store, rejected);
  for (const { _id, subject, seq, reason } of rejected)
    logger.error(
      { alarm: 'event_rejected', rejected: _id, subject, seq, reason },
      'an event cannot be booked; it is kept among the rejected',
    );
}

function giveBack(messages: readonly JsMsg[], bus: Bus): void {
  if (!bus.connected) return; // they come again by themselves
  for (const message of messages) message.nak();
}

function report(error: unknown, failures: number, logger: Logger): void {
  if (error instanceof AnotherWriter)
    logger.warn({ err: error }, 'another writer was at the ledger; it is read anew');
  else if (error instanceof LayoutMoved)
    logger.info({ reason: error.message }, 'the partition is given back');
  else
    logger.error(
      { alarm: 'booking_failed', err: error, failures },
      'events could not be booked; nothing is lost, it is tried again',
    );
}

/** Resolves after `ms` milliseconds, or when aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
