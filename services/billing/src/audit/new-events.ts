// Compares the events acknowledged since the last check with the ledger; the number per check is bounded.
import { DeliverPolicy } from '@nats-io/jetstream';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { PartitionDeps } from '../partition-deps.ts';
import type { LedgerOrder } from '../partitions/ledger-order.ts';
import { logsCompleteFrom } from '../store/log-retention.ts';
import type { Findings } from './drift.ts';
import { checkEvents } from './event-rows.ts';

/** Maximum number of events per check. Beyond it only the newest are checked; `npm run audit` checks all. */
export const EVENTS_PER_CHECK_MAX = 500;
const PULL_MS = 2_000;

interface NewEvents {
  /** All events up to this sequence were acknowledged, and were checked or skipped. */
  readonly seq: number;
  /** Number of events in the stream that are not booked yet. */
  readonly waiting: number;
}

interface NewEventsDeps extends Pick<PartitionDeps, 'bus' | 'store' | 'partition'> {
  readonly order: LedgerOrder;
  readonly findings: Findings;
}

/**
 * Checks the events of this partition; the owners of others check theirs.
 * @throws JetStreamError, TimeoutError, and the driver's errors
 */
export async function checkNewEvents(
  { bus, store, partition, order, findings }: NewEventsDeps,
  after: number,
): Promise<NewEvents> {
  const [info, stream] = await Promise.all([
    bus.jsm.consumers.info(EVENTS_STREAM, partition.consumer),
    bus.jsm.streams.info(EVENTS_STREAM),
  ]);
  const { num_pending, num_ack_pending, ack_floor } = info;
  const bookedSeq = ack_floor.stream_seq;
  const seen = { seq: bookedSeq, waiting: num_pending + num_ack_pending };
  const first = Math.max(after + 1, bookedSeq - EVENTS_PER_CHECK_MAX + 1, stream.state.first_seq, 1);
  if (first > bookedSeq) return seen;
  const consumer = await bus.js.consumers.get(EVENTS_STREAM, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: first,
  });
  const messages = [];
  let reached = first - 1;
  const pull = await consumer.fetch({ max_messages: bookedSeq - first + 1, expires: PULL_MS });
  for await (const message of pull) {
    if (message.seq <= bookedSeq && partition.hasEvent(message.subject)) messages.push(message);
    reached = message.info.pending === 0 ? bookedSeq : Math.min(message.seq, bookedSeq);
    if (reached === bookedSeq) break;
  }
  await consumer.delete().catch(() => {}); // the server removes an idle consumer by itself
  const logsSince = (await logsCompleteFrom(store)) ?? new Date(0);
  await checkEvents({ store, findings, order, logsSince, bookedSeq }, messages);
  return { ...seen, seq: reached }; // the next check reads the rest of a pull that was cut short
}
