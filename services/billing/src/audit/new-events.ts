// Events that were acknowledged since the last look, against the ledger: a bounded number of them each time.
import { DeliverPolicy } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { LedgerOrder } from '../partitions/ledger-order.ts';
import type { Partition } from '../partitions/partition.ts';
import { logsCompleteFrom } from '../store/log-retention.ts';
import type { Store } from '../store/store.ts';
import type { Findings } from './drift.ts';
import { checkEvents } from './event-rows.ts';

/** Events of one look. Where more have come, the newest are looked at, and `npm run audit` looks at all. */
export const EVENTS_PER_LOOK_MAX = 500;
const PULL_MS = 2_000;

export interface NewEvents {
  /** All up to this sequence of the stream were acknowledged and looked at, or passed over. */
  readonly seq: number;
  /** Events that are in the stream and not booked yet. */
  readonly waiting: number;
}

export interface NewEventsOf {
  readonly bus: Bus;
  readonly store: Store;
  /** Events of others are passed over: their owners look at them. */
  readonly partition: Partition;
  readonly order: LedgerOrder;
  readonly findings: Findings;
}

/** @throws JetStreamError, TimeoutError, and the driver's errors */
export async function checkNewEvents(
  { bus, store, partition, order, findings }: NewEventsOf,
  after: number,
): Promise<NewEvents> {
  const [info, stream] = await Promise.all([
    bus.jsm.consumers.info(EVENTS_STREAM, partition.consumer),
    bus.jsm.streams.info(EVENTS_STREAM),
  ]);
  const { num_pending, num_ack_pending, ack_floor } = info;
  const bookedSeq = ack_floor.stream_seq;
  const seen = { seq: bookedSeq, waiting: num_pending + num_ack_pending };
  const first = Math.max(after + 1, bookedSeq - EVENTS_PER_LOOK_MAX + 1, stream.state.first_seq, 1);
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
  await consumer.delete().catch(() => {}); // it goes by itself when nobody reads it
  const logsSince = (await logsCompleteFrom(store)) ?? new Date(0);
  await checkEvents({ store, findings, order, logsSince, bookedSeq }, messages);
  return { ...seen, seq: reached }; // a pull that was cut short leaves the rest to the next look
}
