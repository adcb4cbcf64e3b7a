// Revokes keys whose maker's revocation was interrupted. Any number of instances may run it.
import type { Bucket, EventPublisher, Mirror } from '@switchyard/bus';
import { type KeyRecord, makersOf } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { deleteWithEvents } from '../changes/write.ts';
import { keyEvent } from './key-event.ts';

interface KeySweepDeps {
  readonly keys: Bucket<KeyRecord>;
  readonly known: Pick<Mirror<KeyRecord>, 'entries'>;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly clock: Clock;
}

/**
 * Memory sees every key after its maker. The bucket confirms each orphan: reading it fails on a record of another
 * release, which memory leaves out.
 */
export async function revokeOrphans({ keys, known, events, clock }: KeySweepDeps): Promise<void> {
  const suspects = orphansAmong(known.entries().map(({ value }) => value));
  if (suspects.size === 0) return;
  const there = await keys.entries();
  const orphans = orphansAmong(there.map(({ value }) => value));
  for (const { key, value } of there)
    if (orphans.has(value.id) && suspects.has(value.id))
      await deleteWithEvents({ bucket: keys, events }, key, [keyEvent('revoked', null, value, clock.now())]);
}

/** The ids of keys below a key that has no record. */
function orphansAmong(records: readonly KeyRecord[]): Set<string> {
  const ids = new Set(records.map(({ id }) => id));
  const isOrphan = (id: string) => makersOf(id).some((maker) => !ids.has(maker));
  return new Set([...ids].filter(isOrphan));
}
