// Secrets that were replaced: each points to its successor and is removed when it expires.
import type { Bucket, Entry, Mirror } from '@switchyard/bus';
import type { KeyRecord } from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';

const SWEEP_MS = 60_000;

/**
 * Makes a secret point to its successor until the given time (milliseconds since the epoch), or until its own earlier
 * expiry. Removes a secret that has expired already.
 * @throws RevisionConflict when the key was changed in the meantime
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
