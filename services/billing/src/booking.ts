// The loop that books events: pull, read, write, acknowledge. Whatever goes wrong, nothing is acknowledged that is not
// on disk, the messages come again, the ledger is read anew, and it goes on.
import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';
import { type Logger, passed, systemClock } from '@switchyard/service';
import type { Accounts } from './accounts/accounts.ts';
import { Arrivals } from './arrivals.ts';
import { ensureConsumer } from './consumer.ts';
import { assertUnmoved, LayoutMoved } from './partitions/layout.ts';
import type { Partition } from './partitions/partition.ts';
import type { Progress } from './progress.ts';
import { type ReadBatch, readBatch, rejectedOf } from './read-batch.ts';
import type { LedgerRow, Rejected } from './store/documents.ts';
import { ensureIndexes } from './store/indexes.ts';
import { LedgerWriter, type PreparedBatch } from './store/ledger-writer.ts';
import { AnotherWriter } from './store/mongo-errors.ts';
import { storeRejected } from './store/rejected.ts';
import type { Store } from './store/store.ts';

/** Messages of one batch, and of one pull, at the most. */
export const BATCH_MESSAGES_MAX = 1_000;
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
      await passed(Math.min(AGAIN_MS_MIN * 2 ** (failures - 1), AGAIN_MS_MAX), systemClock, signal);
    }
}

/** With a writer of its own: one that has failed may still have an operation under way. */
async function bookUntilOver(options: BookingOptions, onBooked: () => void): Promise<void> {
  const { bus, store, partition, progress, accounts, logger, signal, onBooked: told = () => {} } = options;
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
    progress.recovered();
  });
  await bookArrivals(consumer, { ...options, writer }, onBooked);
  await writer.close();
}

/** Until the signal is aborted. */
async function bookArrivals(consumer: Consumer, options: Booking, onBooked: () => void): Promise<void> {
  const { bus, signal } = options;
  const arrivals = new Arrivals({
    pull: (max_messages) => pullInTime(consumer, max_messages),
    batchMax: BATCH_MESSAGES_MAX,
  });
  const stop = () => void arrivals.stop();
  const forget = bus.onReconnect(() => arrivals.renew());
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const line = new BookingLine(options, onBooked, stop);
  try {
    for (let messages = await arrivals.next(); messages; messages = await arrivals.next())
      await line.add(messages);
  } finally {
    forget();
    signal.removeEventListener('abort', stop);
    // What came and was not looked at is given back at once, instead of after `ack_wait`.
    giveBack(await arrivals.stop(), bus);
    await line.end();
  }
}

/** A pull that does not end by itself when its time is over was lost on the way, with the link that it was sent on. */
async function pullInTime(consumer: Consumer, max_messages: number): Promise<ConsumerMessages> {
  const messages = await consumer.fetch({ max_messages, expires: PULL_MS });
  const late = setTimeout(() => messages.stop(), PULL_MS + PULL_LATE_MS);
  void messages.closed().finally(() => clearTimeout(late));
  return messages;
}

/** A batch that is read, and what it was read from. */
interface Batch {
  readonly messages: readonly JsMsg[];
  readonly read: ReadBatch;
}

/**
 * Batches on their way into the ledger. They are booked one after the other; beside it others are prepared, one after the
 * other too, at most two ahead of the one that is booked; and beside both one more is read. So none of us, the database
 * and its disk stands still while it waits for the others.
 */
class BookingLine {
  readonly #options: Booking;
  readonly #onBooked: () => void;
  readonly #onFailed: () => void;
  /** Until the batch that was added last is prepared and another may follow it. */
  #preparing: Promise<void> = Promise.resolve();
  /** Until the last that was prepared is booked, and until the one before it is. */
  #booking: Promise<void> = Promise.resolve();
  #bookingBefore: Promise<void> = Promise.resolve();
  #failure: unknown = null;

  /** @param onFailed called when a batch could not be booked; `end` then throws why. */
  constructor(options: Booking, onBooked: () => void, onFailed: () => void) {
    this.#options = options;
    this.#onBooked = onBooked;
    this.#onFailed = onFailed;
  }

  /** Resolves when the next may be added. Never throws. */
  async add(messages: readonly JsMsg[]): Promise<void> {
    const { partition, logger } = this.#options;
    const ours = messages.filter(({ subject }) => partition.hasEvent(subject));
    const batch = { messages, read: readBatch(ours, logger) };
    await this.#preparing;
    this.#preparing = this.#prepare(batch);
  }

  async #prepare(batch: Batch): Promise<void> {
    const { bus, accounts } = this.#options;
    if (this.#failure !== null) return giveBack(batch.messages, bus);
    const still = await accounts.still.move(); // its log rows come before its sums
    const from = performance.now();
    const prepared = await this.#orGiveBack(batch, () => prepare(batch.read, this.#options));
    if (prepared === undefined) return still();
    const prepareMs = performance.now() - from;
    const [before, last] = [this.#bookingBefore, this.#booking];
    this.#bookingBefore = last;
    this.#booking = last.then(() => this.#book(batch, prepared, prepareMs)).finally(still);
    await before;
  }

  async #book(batch: Batch, prepared: PreparedBatch | null, prepare_ms: number): Promise<void> {
    const { bus, logger } = this.#options;
    const { messages } = batch;
    if (this.#failure !== null) return giveBack(messages, bus);
    await this.#orGiveBack(batch, async () => {
      const from = performance.now();
      await book(batch, prepared, this.#options);
      this.#onBooked();
      const [rows, book_ms] = [prepared?.rows.length ?? 0, performance.now() - from];
      logger.debug({ messages: messages.length, rows, prepare_ms, book_ms }, 'a batch was booked');
    });
  }

  /** @throws why a batch could not be booked. */
  async end(): Promise<void> {
    await this.#preparing;
    await this.#booking;
    if (this.#failure !== null) throw this.#failure;
  }

  async #orGiveBack<T>({ messages }: Batch, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#failure ??= error;
      giveBack(messages, this.#options.bus);
      this.#onFailed();
      return undefined;
    }
  }
}

/** @returns null where there is nothing to book. */
async function prepare(
  { rejected, entries }: ReadBatch,
  { store, writer, logger }: Booking,
): Promise<PreparedBatch | null> {
  await reject(store, rejected, logger);
  return entries.length === 0 ? null : await writer.prepare(entries);
}

async function book(
  { messages, read }: Batch,
  prepared: PreparedBatch | null,
  options: Booking,
): Promise<void> {
  const { store, progress, logger } = options;
  if (prepared) await bookRows(prepared, options);
  const refused = new Set(read.rejectedMessages);
  const contradictions: Rejected[] = [];
  for (const { entry, reason } of prepared?.conflicts ?? []) {
    const message = read.sources.get(entry);
    if (!message) continue;
    refused.add(message);
    contradictions.push(rejectedOf(message, reason));
  }
  await reject(store, contradictions, logger);
  for (const message of messages)
    if (refused.has(message)) message.term('rejected by billing');
    else message.ack();
  progress.advanced();
}

/** Nobody reads sums between the batch that fails and the word that they are not whole. */
async function bookRows(prepared: PreparedBatch, { writer, progress }: Booking): Promise<void> {
  try {
    await writer.book(prepared);
  } catch (error) {
    progress.interrupted();
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
