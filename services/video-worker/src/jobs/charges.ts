// Creates records from the events that charge videos: the safety net for a create operation that died between the two.
import { Feed, type FeedOptions, readEvent } from '@switchyard/bus';
import { EVENTS_STREAM, type Event } from '@switchyard/contracts';

export const CHARGES_CONSUMER = 'video-charges';
const SUBJECT = 'event.v1.video.charged.*';
const ATTEMPTS_MAX = 1;
const ACK_WAIT_MS = 10_000;

type ChargesOptions = Pick<FeedOptions, 'bus' | 'clock' | 'logger'> & {
  readonly take: (event: Event<'video.charged'>) => Promise<void>;
};

/** Processes every charge in the stream until stopped. All workers share the consumer. */
export function followCharges({ take, ...deps }: ChargesOptions): Feed {
  return new Feed({
    stream: EVENTS_STREAM,
    name: CHARGES_CONSUMER,
    description: 'makes the record of every video job that was charged',
    subjects: [SUBJECT],
    attemptsMax: ATTEMPTS_MAX,
    ackWaitMs: ACK_WAIT_MS,
    read: readEvent, // billing reports and keeps what cannot be read
    async attempt({ event }) {
      if (event.type === 'video.charged') await take(event as Event<'video.charged'>);
      return 'settled';
    },
    ...deps,
  });
}
