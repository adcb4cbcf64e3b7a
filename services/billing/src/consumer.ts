// The durable pull consumer of a partition on the stream of events: where it begins, and its bounds.
import { AckPolicy, type Consumer, DeliverPolicy, JetStreamApiError } from '@nats-io/jetstream';
import { type Bus, ensureEventsStream } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { Layout } from './partitions/layout.ts';
import type { Partition } from './partitions/partition.ts';

const MS_NS = 1_000_000;
/** A message that was not acknowledged in this time comes again: no longer than a dead owner's lease lives. */
const ACK_WAIT_MS = 5_000;
/**
 * Messages that may be on their way at once, those of a writer that died included: in billing's hands are up to four
 * batches and two more that wait (booking.ts, arrivals.ts).
 */
const ACK_PENDING_MAX = 8_000;
/** Until it is booked: an event is never given up. */
const DELIVERIES_MAX = -1;
/** Code of JetStream for "there is no such consumer". */
const CONSUMER_NOT_FOUND = 10_014;

/**
 * Makes the stream and the consumer where they are missing. It takes every event, those of other partitions and those
 * that charge nothing too: the acknowledged sequence then says exactly how far the partition has got.
 */
export async function ensureConsumer(bus: Bus, { consumer, layout }: Partition): Promise<Consumer> {
  await ensureEventsStream(bus);
  // One that began elsewhere in the stream cannot be told to begin here: it is as good.
  if (layout.epoch === 0 || !(await consumerInfo(bus, consumer)))
    await bus.jsm.consumers.add(EVENTS_STREAM, {
      durable_name: consumer,
      description: 'books events into the ledger',
      ...startBehind(await bookedBefore(bus, layout)),
      ack_policy: AckPolicy.Explicit,
      ack_wait: ACK_WAIT_MS * MS_NS,
      max_ack_pending: ACK_PENDING_MAX,
      max_deliver: DELIVERIES_MAX,
    });
  return bus.js.consumers.get(EVENTS_STREAM, consumer);
}

/** Null where there is none. */
export async function consumerInfo(bus: Bus, name: string) {
  try {
    return await bus.jsm.consumers.info(EVENTS_STREAM, name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === CONSUMER_NOT_FOUND) return null;
    throw error;
  }
}

/**
 * The message of the stream up to which all was booked under the layouts before this one; 0: none may be passed over. It
 * is 0 too where the stream is no longer the one in which that was so (one that was restored or made anew counts from
 * elsewhere): what is booked already is passed over by its id.
 */
export async function bookedBefore(bus: Bus, { from }: Layout): Promise<number> {
  if (!from) return 0;
  const message = await bus.jsm.streams.getMessage(EVENTS_STREAM, { seq: from.seq });
  return message?.time.getTime() === from.at.getTime() ? from.seq : 0;
}

function startBehind(seq: number) {
  if (seq === 0) return { deliver_policy: DeliverPolicy.All } as const;
  return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq + 1 } as const;
}
