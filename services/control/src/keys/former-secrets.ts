// Secrets that were replaced: each points to its successor, whose bounds hold for it too. The sweep of keys removes it
// when it expires.
import type { Bucket, Entry, EventPublisher } from '@switchyard/bus';
import type { Event, KeyRecord } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { deleteWithEvents, updateWithEvents } from '../changes/write.ts';

export interface Retirement {
  readonly successor: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** Events that the write publishes. */
  readonly happened?: readonly Event[];
}

/**
 * Makes a secret point to its successor until the given time, or until its own earlier expiry. Removes a secret that has
 * expired already.
 * @throws RevisionConflict when the key was changed in the meantime
 */
export async function retire(
  {
    keys: bucket,
    events,
    clock,
  }: { keys: Bucket<KeyRecord>; events: Pick<EventPublisher, 'publish'>; clock: Clock },
  { key, value, revision }: Entry<KeyRecord>,
  { successor, until, happened = [] }: Retirement,
): Promise<void> {
  const end = value.retires_at ? Math.min(Date.parse(value.retires_at), until) : until;
  const to = { bucket, events };
  if (end <= clock.now()) return deleteWithEvents(to, key, happened, revision);
  const short = { ...value, models: null, metadata: null }; // copies of a long list would fill the bucket
  const retired = { ...short, successor, retires_at: new Date(end).toISOString() };
  await updateWithEvents(to, { key, value: retired, revision }, happened);
}
