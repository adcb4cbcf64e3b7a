// Publishes the events that writes carry (write.ts), for writers that died before they did it. Each bucket has a durable
// consumer; any number of instances pull from it. The writer has published nearly all of them: the stream drops repeats.
import { BUCKETS_WITH_EVENTS, type Bus, type EventPublisher, eventsOfEntry, Feed } from '@switchyard/bus';
import type { Event } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';

/** One at a time: the events of a record keep their order. */
const WRITES_MAX = 1;
/** How long events wait if an instance dies with them. */
const ACK_WAIT_MS = 5_000;

interface PublishWrittenDeps {
  readonly bus: Bus;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @returns the function that stops it */
export function publishWritten({ bus, events, clock, logger }: PublishWrittenDeps): () => Promise<void> {
  const feeds = BUCKETS_WITH_EVENTS.map(
    (bucket) =>
      new Feed<Event[]>({
        bus,
        stream: `KV_${bucket}`,
        name: 'written-events',
        description: 'publishes the events that writes carry',
        subjects: [`$KV.${bucket}.>`],
        attemptsMax: WRITES_MAX,
        ackWaitMs: ACK_WAIT_MS,
        read: eventsOfEntry,
        async attempt({ event: written }) {
          for (const event of written) await events.publish(event);
          return 'settled';
        },
        clock,
        logger,
      }),
  );
  return async () => {
    await Promise.all(feeds.map((feed) => feed.stop()));
  };
}
