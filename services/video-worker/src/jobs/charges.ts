// Creates records from the events that charge videos: the safety net for a create operation that died between the two.
// All workers share one durable consumer; an event that a dead worker held is redelivered to another.
import { AckPolicy, type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { type Bus, readEvent } from '@switchyard/bus';
import { EVENTS_STREAM, type Event } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';

const CONSUMER = 'video-worker';
const SUBJECT = 'event.v1.video.charged.*';
const MS_NS = 1_000_000;
const ACK_WAIT_MS = 10_000;
const ACK_PENDING_MAX = 1_000;
const DELIVERIES_MAX = -1;
const PULLED_MAX = 100;
/** Delay before a failed event is redelivered, and before a failed consumer is restarted. */
const AGAIN_MS = 1_000;

interface ChargesOptions {
  bus: Bus;
  clock: Clock;
  logger: Logger;
  take(event: Event<'video.charged'>): Promise<void>;
}

export interface Charges {
  stop(): Promise<void>;
}

/** Processes every charge from now on until stopped; failed events are redelivered. */
export async function followCharges(options: ChargesOptions): Promise<Charges> {
  const { bus, clock, logger } = options;
  let stopped = false;
  let messages: ConsumerMessages | null = null;
  let wake = () => {};
  const pause = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
      clock.after(AGAIN_MS, resolve);
    });
  const follow = async () => {
    while (!stopped)
      try {
        await ensureConsumer(bus);
        const consumer = await bus.js.consumers.get(EVENTS_STREAM, CONSUMER);
        messages = await consumer.consume({ max_messages: PULLED_MAX, abort_on_missing_resource: true });
        if (stopped) messages.stop();
        for await (const message of messages) await takeOne(options, message);
      } catch (error) {
        logger.warn({ err: error }, 'restarting the consumer of video charges');
        if (!stopped) await pause();
      }
  };
  await ensureConsumer(bus);
  const following = follow();
  return {
    async stop() {
      stopped = true;
      messages?.stop();
      wake();
      await following;
    },
  };
}

async function takeOne({ take, logger }: ChargesOptions, message: JsMsg): Promise<void> {
  let event: Event;
  try {
    event = readEvent(message);
  } catch (error) {
    logger.error(
      { err: error, subject: message.subject },
      'an event of a video cannot be read; billing keeps it',
    );
    return message.term('not an event of ours');
  }
  try {
    if (event.type === 'video.charged') await take(event as Event<'video.charged'>);
    message.ack();
  } catch (error) {
    logger.warn({ err: error, event: event.id }, 'a video could not be taken up; it comes again');
    message.nak(AGAIN_MS);
  }
}

async function ensureConsumer(bus: Bus): Promise<void> {
  await bus.jsm.consumers.add(EVENTS_STREAM, {
    durable_name: CONSUMER,
    description: 'makes the record of every video job that was charged',
    filter_subject: SUBJECT,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: ACK_WAIT_MS * MS_NS,
    max_ack_pending: ACK_PENDING_MAX,
    max_deliver: DELIVERIES_MAX,
  });
}
