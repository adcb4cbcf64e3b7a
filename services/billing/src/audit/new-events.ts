// Compares the events acknowledged since the last check with the ledger; the number per check is bounded.
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { PartitionDeps } from '../partition-deps.ts';
import type { LedgerOrder } from '../partitions/ledger-order.ts';
import type { Findings } from './drift.ts';
import { checkEvents } from './event-rows.ts';
import { messagesOf } from './stream-messages.ts';

/** Maximum number of events per check. Beyond it only the newest are checked; `npm run audit` checks all. */
export const EVENTS_PER_CHECK_MAX = 500;

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
 * @throws AuditFailed when the stream stops answering; JetStreamError, TimeoutError, and the driver's errors
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
  for await (const messages of messagesOf(bus, { stream: EVENTS_STREAM, first, last: bookedSeq })) {
    const ours = messages.filter(({ subject }) => partition.hasEvent(subject));
    await checkEvents({ store, findings, order, bookedSeq }, ours);
  }
  return seen;
}
