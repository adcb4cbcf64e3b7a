// Secrets that have a successor: made to lead to it, and removed when they are accepted no longer.
import type { Bucket, Entry, Mirror } from '@switchyard/bus';
import type { KeyRecord } from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';

const SWEEP_MS = 60_000;

/**
 * Makes a secret lead to another until a time (milliseconds since the epoch), or as long as it was to be accepted
 * anyway, if that is shorter; one that is accepted no longer is removed.
 * @throws RevisionConflict when the key was changed meanwhile
 */
export async function retire(
  { keys, clock }: { keys: Bucket<KeyRecord>; clock: Clock },
  { key, value, revision }: Entry<KeyRecord>,
  successor: string,
  until: number,
): Promise<void> {
  const end = value.retires_at ? Math.min(Date.parse(value.retires_at), until) : until;
  if (end <= clock.now()) return keys.delete(key, revision);
  await keys.update(key, { ...value, successor, retires_at: new Date(end).toISOString() }, revision);
}

interface Removing {
  readonly keys: Bucket<KeyRecord>;
  readonly known: Pick<Mirror<KeyRecord>, 'entries'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Edges refuse them by the time in their records; this keeps the bucket clean. Any number of instances may do it. */
export function keepRemovingFormer(on: Removing): Repeating {
  const failed = 'former secrets were not removed yet';
  return repeat({ everyMs: SWEEP_MS, clock: on.clock, logger: on.logger, failed }, () => removeFormer(on));
}

async function removeFormer({ keys, known, clock }: Removing): Promise<void> {
  for (const [hash, { retires_at: end }] of known.entries())
    if (end && Date.parse(end) <= clock.now()) await keys.delete(hash);
}
