// Writes to buckets that are published as events. A write carries its events in a header, in one message with the
// record, and they are published right after it. If this process dies in between, publish-written.ts finds them there.
import {
  BUCKETS_WITH_EVENTS,
  type Bucket,
  DUPLICATE_WINDOW_NS,
  type Entry,
  type EventPublisher,
} from '@switchyard/bus';
import type { Event } from '@switchyard/contracts';

const DUPLICATE_WINDOW_MS = DUPLICATE_WINDOW_NS / 1_000_000;

interface Published<V> {
  readonly bucket: Bucket<V>;
  readonly events: Pick<EventPublisher, 'publish'>;
}

/** For a key that was never written: nothing earlier is published. @throws RevisionConflict when the key exists */
export async function createWithEvents<V>(
  to: Published<V>,
  key: string,
  value: V,
  events: readonly Event[],
): Promise<number> {
  requirePublished(to);
  const revision = await to.bucket.create(key, value, events);
  await publishAll(to, events);
  return revision;
}

/** As `Bucket.change`. `eventsOf` gets the entry that was replaced; null: there was none. */
export async function changeWithEvents<V>(
  to: Published<V>,
  key: string,
  decide: Parameters<Bucket<V>['change']>[1],
  eventsOf: (before: Entry<V> | null, after: V) => readonly Event[],
): Promise<Entry<V> | null> {
  let events: readonly Event[] = [];
  const entry = await to.bucket.change(
    key,
    async (current) => {
      events = [];
      const value = await decide(current);
      if (value !== null) await publishReplaced(to, key);
      return value;
    },
    (before, after) => {
      events = eventsOf(before, after);
      return events;
    },
  );
  await publishAll(to, events);
  return entry;
}

/** @throws RevisionConflict when `revision` is given and is not the latest */
export async function deleteWithEvents<V>(
  to: Published<V>,
  key: string,
  events: readonly Event[],
  revision?: number,
): Promise<void> {
  await publishReplaced(to, key);
  await to.bucket.delete(key, revision, events);
  await publishAll(to, events);
}

/**
 * Publishes the events of the write that the next one replaces, since a bucket keeps the last write only and the writer
 * may have died. The stream drops a repeat; older events were published by publish-written.ts.
 */
async function publishReplaced<V>(to: Published<V>, key: string): Promise<void> {
  requirePublished(to);
  const last = await to.bucket.lastWrite(key);
  if (last && Date.now() - last.at.getTime() < DUPLICATE_WINDOW_MS) await publishAll(to, last.events);
}

function requirePublished<V>({ bucket }: Published<V>): void {
  if (!BUCKETS_WITH_EVENTS.some((name) => name === bucket.name))
    throw new Error(`nothing publishes the events of writes to ${bucket.name}: libs/bus/src/access.ts`);
}

async function publishAll(
  { events }: Pick<Published<unknown>, 'events'>,
  all: readonly Event[],
): Promise<void> {
  for (const event of all) await events.publish(event);
}
