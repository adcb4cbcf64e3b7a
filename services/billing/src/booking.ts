// The loop that books events: pull, read, write, acknowledge. Only durable events are acknowledged. After a failure the
// events are redelivered and the writer recovers from the ledger.
import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';
import type { Event } from '@switchyard/contracts';
import { type Logger, sleep, systemClock } from '@switchyard/service';
import type { Accounts } from './accounts/accounts.ts';
import type { BudgetAlerts } from './alerts/budget-alerts.ts';
import { Arrivals } from './arrivals.ts';
import { ensureConsumer } from './consumer.ts';
import type { PartitionDeps } from './partition-deps.ts';
import { assertUnmoved, LayoutMoved } from './partitions/layout.ts';
import { entriesOf, readBatch, rejectedOf } from './read-batch.ts';
import { auditRowOf, isAudited, writeAuditRows } from './store/audit-rows.ts';
import type { LedgerRow } from './store/documents.ts';
import { ensureIndexes } from './store/indexes.ts';
import { LedgerWriter } from './store/ledger-writer.ts';
import { AnotherWriter } from './store/mongo-errors.ts';
import { reject } from './store/rejected.ts';

/** Maximum number of messages in one batch and in one pull. */
const BATCH_MESSAGES_MAX = 1_000;
/** Booking is background work: the first event of a batch waits this long for others, in milliseconds. */
const COLLECT_MS_MAX = 250;
/** A pull that is not filled is renewed after this time. */
const PULL_MS = 5_000;
/** A pull that is this much overdue was lost together with its link. */
const PULL_LATE_MS = 1_000;

const RETRY_DELAY_MS_MIN = 50;
const RETRY_DELAY_MS_MAX = 2_000;

interface BookingDeps
  extends Pick<PartitionDeps, 'bus' | 'store' | 'partition' | 'progress' | 'logger' | 'signal'> {
  /** Called with the rows of each batch after they are written and folded. */
  readonly onBooked?: (rows: readonly LedgerRow[]) => void;
  /** Receives every row. Not read while a batch is being written. */
  readonly accounts: Accounts;
  /** Sees every batch before it is acknowledged. */
  readonly alerts?: Pick<BudgetAlerts, 'look' | 'forget'>;
}

/** Books events until the signal is aborted. Never throws: failures are retried without limit. */
export async function bookEvents(deps: BookingDeps): Promise<void> {
  const { signal, logger } = deps;
  let failures = 0;
  while (!signal.aborted)
    try {
      await bookUntilOver(deps, () => {
        failures = 0;
      });
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      report(error, failures, logger);
      await sleep(
        Math.min(RETRY_DELAY_MS_MIN * 2 ** (failures - 1), RETRY_DELAY_MS_MAX),
        systemClock,
        signal,
      );
    }
}

/** Creates a new writer: an operation of a failed writer may still be running. */
async function bookUntilOver(deps: BookingDeps, onBooked: () => void): Promise<void> {
  const { bus, store, partition, progress, accounts, logger, signal } = deps;
  await ensureIndexes(store);
  await assertUnmoved(store, partition.layout);
  const consumer = await ensureConsumer(bus, partition);
  const writer = new LedgerWriter({
    store,
    partition: partition.name,
    logger,
    onBooked: (rows) => {
      accounts.booked(rows);
      deps.onBooked?.(rows);
    },
  });
  await accounts.lock.run(async () => {
    await writer.recover(signal);
    // Read after the last number: nothing may be booked behind the fence of another layout.
    await assertUnmoved(store, partition.layout);
    deps.alerts?.forget();
    accounts.forget(); // an earlier batch may have been cut short, and its rows were folded just now
    progress.recovered();
  });
  await eachBatch(consumer, deps, async (messages) => {
    await accounts.lock.run(() => bookBatch(messages, writer, deps));
    onBooked();
  });
  await writer.close();
}

/** Hands arriving messages to a handler, one batch after the other, until the signal is aborted. */
export async function eachBatch(
  consumer: Consumer,
  { bus, progress, signal }: Pick<BookingDeps, 'bus' | 'progress' | 'signal'>,
  take: (messages: readonly JsMsg[]) => Promise<void>,
): Promise<void> {
  const arrivals = new Arrivals({
    pull: (max_messages) => pullInTime(consumer, max_messages),
    batchMax: BATCH_MESSAGES_MAX,
    collectMs: COLLECT_MS_MAX,
  });
  const stop = () => void arrivals.stop();
  const forget = bus.onReconnect(() => arrivals.renew());
  const calm = progress.onHurry(() => arrivals.hurry());
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (let messages = await arrivals.next(); messages; messages = await arrivals.next())
      await take(messages);
  } finally {
    forget();
    calm();
    signal.removeEventListener('abort', stop);
    // Returns unprocessed messages at once, so that they are redelivered before `ack_wait` ends.
    giveBack(await arrivals.stop(), bus);
  }
}

/** Pulls with a time limit: a pull that outlives its own time was lost together with its link. */
async function pullInTime(consumer: Consumer, max_messages: number): Promise<ConsumerMessages> {
  const messages = await consumer.fetch({ max_messages, expires: PULL_MS });
  const late = setTimeout(() => messages.stop(), PULL_MS + PULL_LATE_MS);
  void messages.closed().finally(() => clearTimeout(late));
  return messages;
}

/**
 * Books the messages of this partition and acknowledges all of them.
 * @throws the error of the writer; then nothing is acknowledged, and the messages are redelivered
 */
async function bookBatch(messages: readonly JsMsg[], writer: LedgerWriter, deps: BookingDeps): Promise<void> {
  const { bus, store, partition, progress, logger } = deps;
  const from = performance.now();
  try {
    const ours = messages.filter(({ subject }) => partition.hasEvent(subject));
    const { read, rejected } = readBatch(ours, logger);
    const entries = entriesOf(read);
    const conflicts = entries.length > 0 ? await writer.append(entries) : [];
    const reasons = new Map(conflicts.map(({ entry, reason }) => [entry, reason]));
    const accepted: Event[] = [];
    for (const { message, event, entry } of read) {
      const reason = entry && reasons.get(entry);
      if (reason) rejected.set(message, rejectedOf(message, reason));
      else accepted.push(event);
    }
    await reject(store, [...rejected.values()], logger);
    await writeAuditRows(store, accepted.filter(isAudited).map(auditRowOf));
    await deps.alerts?.look({ entries, events: accepted });
    for (const message of messages)
      if (rejected.has(message)) message.term('rejected by billing');
      else message.ack();
    progress.advanced();
    const ms = performance.now() - from;
    logger.debug({ messages: messages.length, entries: entries.length, ms }, 'a batch was booked');
  } catch (error) {
    progress.interrupted(); // before any reader can see sums without some rows of the ledger
    giveBack(messages, bus);
    throw error;
  }
}

function giveBack(messages: readonly JsMsg[], bus: Bus): void {
  if (!bus.connected) return; // the server redelivers them without this
  for (const message of messages) message.nak();
}

function report(error: unknown, failures: number, logger: Logger): void {
  if (error instanceof AnotherWriter)
    logger.warn({ err: error }, 'another writer wrote to the ledger; billing reads it again');
  else if (error instanceof LayoutMoved)
    logger.info({ reason: error.message }, 'the partition is given back');
  else
    logger.error(
      { alarm: 'booking_failed', err: error, failures },
      'events could not be booked; nothing is lost, retrying',
    );
}
