// The durable pull consumers of billing: one per partition on the stream of events, and one for refused calls.
import {
  AckPolicy,
  type Consumer,
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiError,
} from '@nats-io/jetstream';
import { type Bus, ensureEventsStream } from '@switchyard/bus';
import { EVENTS_STREAM, REFUSALS_STREAM } from '@switchyard/contracts';
import type { Layout } from './partitions/layout.ts';
import type { Partition } from './partitions/partition.ts';

const MS_NS = 1_000_000;
/** An unacknowledged message is redelivered after this time: no longer than the lease of a dead owner lasts. */
const ACK_WAIT_MS = 5_000;
/**
 * Maximum number of unacknowledged messages, those of a dead writer included. Billing itself has at most 3,000: a batch in
 * progress, and under two buffered (booking.ts, arrivals.ts).
 */
const ACK_PENDING_MAX = 8_000;
/** Unlimited: an event is redelivered until it is booked. */
const DELIVERIES_MAX = -1;
/** JetStream error code for a missing consumer. */
const CONSUMER_NOT_FOUND = 10_014;

/** One consumer for all partitions: refused calls have only log rows. */
export const REFUSALS_CONSUMER = 'billing-refusals';
const BOUNDS = {
  ack_policy: AckPolicy.Explicit,
  ack_wait: ACK_WAIT_MS * MS_NS,
  max_ack_pending: ACK_PENDING_MAX,
  max_deliver: DELIVERIES_MAX,
} as const;

/**
 * Creates the stream and the consumer where they are missing. The consumer takes every event, including those of other
 * partitions and those without a charge, so its acknowledged sequence is the exact progress of the partition.
 */
export async function ensureConsumer(bus: Bus, { consumer, layout }: Partition): Promise<Consumer> {
  await ensureEventsStream(bus);
  // The start of an existing consumer cannot be changed; a different start is equally correct.
  if (layout.epoch === 0 || !(await consumerInfo(bus, consumer)))
    await bus.jsm.consumers.add(EVENTS_STREAM, {
      durable_name: consumer,
      description: 'books events into the ledger',
      ...startBehind(await bookedBefore(bus, layout)),
      ...BOUNDS,
    });
  return bus.js.consumers.get(EVENTS_STREAM, consumer);
}

/** Creates the stream of refused calls and its consumer where they are missing. */
export async function ensureRefusalsConsumer(bus: Bus): Promise<Consumer> {
  await ensureEventsStream(bus);
  await bus.jsm.consumers.add(REFUSALS_STREAM, {
    durable_name: REFUSALS_CONSUMER,
    description: 'writes the log rows of refused calls',
    deliver_policy: DeliverPolicy.All,
    ...BOUNDS,
  });
  return bus.js.consumers.get(REFUSALS_STREAM, REFUSALS_CONSUMER);
}

/** Returns null when the consumer does not exist. */
export async function consumerInfo(bus: Bus, name: string) {
  try {
    return await bus.jsm.consumers.info(EVENTS_STREAM, name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === CONSUMER_NOT_FOUND) return null;
    throw error;
  }
}

/**
 * The stream sequence up to which everything was booked under the earlier layouts; 0: skip nothing. It is 0 when the
 * stream was restored or recreated, because the sequences of the new stream differ. Events that were already booked are
 * then skipped by id.
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

/**
 * Decides from readings of a consumer, given in order, whether it has acknowledged every event up to `last`. A server
 * counts a stored event as pending with a small delay, so a consumer that seems idle below `last` has nothing left only if
 * it seemed idle before too: the events were removed.
 */
export function acknowledgedUpTo(last: number): (info: ConsumerInfo) => boolean {
  let wasIdle = false;
  return ({ ack_floor, delivered, num_pending, num_ack_pending }) => {
    if (ack_floor.stream_seq >= last) return true;
    const isIdle = num_pending === 0 && num_ack_pending === 0;
    const hasAll = isIdle && (wasIdle || delivered.stream_seq >= last);
    wasIdle = isIdle;
    return hasAll;
  };
}
