// Removes secrets that have expired, and revokes keys whose maker's revocation was interrupted. Any number of instances
// may run it.
import type { Bucket, EventPublisher, Mirror } from '@switchyard/bus';
import { type KeyRecord, makersOf } from '@switchyard/contracts';
import { type Clock, type Logger, type Repeating, repeat } from '@switchyard/service';
import { deleteWithEvents } from '../changes/write.ts';
import { keyEvent } from './key-event.ts';

const SWEEP_MS = 60_000;

interface KeySweepDeps {
  readonly keys: Bucket<KeyRecord>;
  readonly known: Pick<Mirror<KeyRecord>, 'entries'>;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function keepSweepingKeys(deps: KeySweepDeps): Repeating {
  const failed = 'the sweep of keys failed';
  return repeat({ everyMs: SWEEP_MS, clock: deps.clock, logger: deps.logger, failed }, async () => {
    await removeFormer(deps);
    await revokeOrphans(deps);
  });
}

/** Edges already reject expired secrets by time; this cleans up the bucket. */
async function removeFormer({ keys, known, clock }: KeySweepDeps): Promise<void> {
  for (const [hash, { retires_at: end }] of known.entries())
    if (end && Date.parse(end) <= clock.now()) await keys.delete(hash);
}

/**
 * Memory learns of every key after its maker. The bucket confirms what memory lacks: reading it fails on a record of
 * another release, which memory leaves out.
 */
async function revokeOrphans({ keys, known, events, clock }: KeySweepDeps): Promise<void> {
  const suspects = new Set(orphansAmong(known.entries()).map(([hash]) => hash));
  if (suspects.size === 0) return;
  const there = (await keys.entries()).map(({ key, value }): [string, KeyRecord] => [key, value]);
  const orphans = orphansAmong(there).filter(([hash]) => suspects.has(hash));
  for (const [hash, record] of orphans) {
    const revoked = record.successor ? [] : [keyEvent('revoked', null, record, clock.now())];
    await deleteWithEvents({ bucket: keys, events }, hash, revoked);
  }
}

/** The secrets of keys below a key that has no record. */
function orphansAmong(entries: readonly [string, KeyRecord][]): [string, KeyRecord][] {
  const ids = new Set(entries.map(([, { id }]) => id));
  return entries.filter(([, { id }]) => makersOf(id).some((maker) => !ids.has(maker)));
}
