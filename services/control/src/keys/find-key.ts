// Finds a key's records by the key's id: in memory, or in the bucket for one made a moment ago.
import type { Entry } from '@switchyard/bus';
import { type KeyRecord, ServiceError } from '@switchyard/contracts';
import type { KeyOperations } from '../operations/keys-create.ts';

/** A key by its secrets: the one in use, and those that a rotation has taken, or was about to take, out of use. */
export interface FoundKey {
  readonly current: Entry<KeyRecord>;
  readonly former: readonly Entry<KeyRecord>[];
}

/**
 * The records of an org's key, as the bucket has them now.
 * @throws ServiceError `key_not_found`, also for a key of another org
 */
export async function findKey(
  { keys, known }: Pick<KeyOperations, 'keys' | 'known'>,
  org: string,
  id: string,
): Promise<FoundKey> {
  const isIt = (record: KeyRecord) => record.org === org && record.id === id;
  const inMemory = known.entries().filter(([, record]) => isIt(record));
  const read = await Promise.all(inMemory.map(([hash]) => keys.get(hash)));
  const entries = read.filter((entry) => entry !== null);
  return inUse(entries) ?? inUse((await keys.entries()).filter(({ value }) => isIt(value))) ?? unknown(id);
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
