// The durable pull consumer of this partition on the stream of events: what it is called, and its bounds.
import { AckPolicy, type Consumer, DeliverPolicy } from '@nats-io/jetstream';
import { type Bus, ensureEventsStream } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import { PARTITION } from './store/partition.ts';

export const CONSUMER = `billing-${PARTITION}`;

const MS_NS = 1_000_000;
/** A message that was not acknowledged in this time comes again: no longer than a dead owner's lease lives. */
const ACK_WAIT_MS = 5_000;
/** Messages that may be on their way at once, those of a writer that died included. */
const ACK_PENDING_MAX = 2_000;
/** Until it is booked: an event is never given up. */
const DELIVERIES_MAX = -1;

/**
 * Makes the stream and the consumer where they are missing. It takes every event, also those that charge nothing:
 * the acknowledged sequence then says exactly how far billing has got.
 */
export async function ensureConsumer(bus: Bus): Promise<Consumer> {
  await ensureEventsStream(bus);
  await bus.jsm.consumers.add(EVENTS_STREAM, {
    durable_name: CONSUMER,
    description: 'books every event into the ledger',
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: ACK_WAIT_MS * MS_NS,
    max_ack_pending: ACK_PENDING_MAX,
    max_deliver: DELIVERIES_MAX,
  });
  return bus.js.consumers.get(EVENTS_STREAM, CONSUMER);
}
