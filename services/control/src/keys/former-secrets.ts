// Secrets that were replaced: each points to its successor and is removed when it expires.
import type { Bucket, Entry, EventPublisher, Mirror } from '@switchyard/bus';
import type { Event, KeyRecord } from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';
import { deleteWithEvents, updateWithEvents } from '../changes/write.ts';

const SWEEP_MS = 60_000;

interface Retirement {
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
  const retired = { ...value, successor, retires_at: new Date(end).toISOString() };
  await updateWithEvents(to, { key, value: retired, revision }, happened);
}

interface Removing {
  readonly keys: Bucket<KeyRecord>;
  readonly known: Pick<Mirror<KeyRecord>, 'entries'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Edges already reject expired secrets by time; this cleans up the bucket. Any number of instances may run it. */
export function keepRemovingFormer(deps: Removing): Repeating {
  const failed = 'former secrets were not removed yet';
  return repeat({ everyMs: SWEEP_MS, clock: deps.clock, logger: deps.logger, failed }, () =>
    removeFormer(deps),
  );
}

async function removeFormer({ keys, known, clock }: Removing): Promise<void> {
  for (const [hash, { retires_at: end }] of known.entries())
    if (end && Date.parse(end) <= clock.now()) await keys.delete(hash);
}
