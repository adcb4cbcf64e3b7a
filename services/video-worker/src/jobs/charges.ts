// Creates records from the events that charge videos: the safety net for a create operation that died between the two.
import { type Bus, ensureConsumer, Feed, type FeedOptions, readEvent } from '@switchyard/bus';
import { EVENTS_STREAM, type Event } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';

export const CHARGES_CONSUMER = 'video-charges';
const SUBJECT = 'event.v1.video.charged.*';
const ATTEMPTS_MAX = 1;
const ACK_WAIT_MS = 10_000;

interface ChargesOptions {
  bus: Bus;
  clock: Clock;
  logger: Logger;
  take(event: Event<'video.charged'>): Promise<void>;
}

/**
 * Processes every charge in the stream until stopped. All workers share the consumer.
 * @throws when the consumer cannot be created
 */
export async function followCharges({ take, logger, ...deps }: ChargesOptions): Promise<Feed> {
  const options: FeedOptions = {
    stream: EVENTS_STREAM,
    name: CHARGES_CONSUMER,
    description: 'makes the record of every video job that was charged',
    subjects: [SUBJECT],
    attemptsMax: ATTEMPTS_MAX,
    ackWaitMs: ACK_WAIT_MS,
    read(message) {
      try {
        return readEvent(message);
      } catch (error) {
        logger.error(
          { err: error, subject: message.subject },
          'an event of a video cannot be read; billing keeps it',
        );
        throw error;
      }
    },
    async attempt({ event }) {
      if (event.type === 'video.charged') await take(event as Event<'video.charged'>);
      return 'settled';
    },
    logger,
    ...deps,
  };
  await ensureConsumer(options);
  return new Feed(options);
}
