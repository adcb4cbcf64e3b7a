// Finds a key's records by the key's id: in memory that has heard of all, or else in the bucket.
import type { Bucket, Entry, Mirror } from '@switchyard/bus';
import { type KeyRecord, ServiceError } from '@switchyard/contracts';

/** For memory to hear of what was written a moment ago; after it the bucket itself is gone through. */
const CAUGHT_UP_MS_MAX = 500;

/** A key by its secrets: the one in use, and those that a rotation has taken, or was about to take, out of use. */
export interface FoundKey {
  readonly current: Entry<KeyRecord>;
  readonly former: readonly Entry<KeyRecord>[];
}

/**
 * All records of an org's key, as the bucket has them now: a secret that is missed here outlives its revocation.
 * @throws ServiceError `key_not_found`, also for a key of another org; `service_unavailable`
 */
export async function findKey(
  { keys, known }: { keys: Bucket<KeyRecord>; known: Pick<Mirror<KeyRecord>, 'entries' | 'caughtUp'> },
  org: string,
  id: string,
): Promise<FoundKey> {
  const isIt = (record: KeyRecord) => record.org === org && record.id === id;
  if (await known.caughtUp(CAUGHT_UP_MS_MAX)) {
    const inMemory = known.entries().filter(([, record]) => isIt(record));
    if (inMemory.length === 0) unknown(id);
    const read = await Promise.all(inMemory.map(([hash]) => keys.get(hash)));
    const found = inUse(read.filter((entry) => entry !== null));
    if (found) return found; // else it was rotated or revoked since
  }
  return inUse((await keys.entries()).filter(({ value }) => isIt(value))) ?? unknown(id);
}

/** A rotation that was cut short leaves two that are in use: the later one counts. */
function inUse(entries: readonly Entry<KeyRecord>[]): FoundKey | null {
  const [current] = entries
    .filter(({ value }) => !value.successor)
    .sort((a, b) => (b.value.rotation ?? 0) - (a.value.rotation ?? 0));
  if (!current) return null;
  return { current, former: entries.filter((entry) => entry !== current) };
}

function unknown(id: string): never {
  throw new ServiceError('key_not_found', `there is no key ${id}`);
}
