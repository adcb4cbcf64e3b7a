// Secrets that have a successor: made to lead to it, and removed when they are accepted no longer.
import type { Bucket, Entry, Mirror } from '@switchyard/bus';
import type { KeyRecord } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';

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

/** Edges refuse them by the time in their records; this keeps the bucket clean. Any number of instances may do it. */
export function keepRemovingFormer(on: {
  keys: Bucket<KeyRecord>;
  known: Pick<Mirror<KeyRecord>, 'entries'>;
  clock: Clock;
  logger: Logger;
}): { stop(): Promise<void> } {
  let round = Promise.resolve();
  let cancel = () => {};
  let stopped = false;
  const goOn = () => {
    if (stopped) return;
    cancel = on.clock.after(SWEEP_MS, () => {
      round = removeFormer(on)
        .catch((error: unknown) => on.logger.warn({ err: error }, 'former secrets were not removed yet'))
        .then(goOn);
    });
  };
  goOn();
  return {
    async stop() {
      stopped = true;
      cancel();
      await round;
    },
  };
}

async function removeFormer({ keys, known, clock }: Parameters<typeof keepRemovingFormer>[0]): Promise<void> {
  for (const [hash, { retires_at: end }] of known.entries())
    if (end && Date.parse(end) <= clock.now()) await keys.delete(hash);
}
