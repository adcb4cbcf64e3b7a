// Finds a key's record by the key's id: in memory, or in the bucket for one made a moment ago.
import { type KeyRecord, ServiceError } from '@switchyard/contracts';
import type { KeyOperations } from '../operations/keys-create.ts';

/**
 * The SHA-256 under which the record of an org's key is kept.
 * @throws ServiceError `key_not_found`, also for a key of another org
 */
export async function findKey(
  { keys, known }: Pick<KeyOperations, 'keys' | 'known'>,
  org: string,
  id: string,
): Promise<string> {
  const isIt = (record: KeyRecord) => record.org === org && record.id === id;
  const hash =
    known.entries().find(([, record]) => isIt(record))?.[0] ??
    (await keys.entries()).find(({ value }) => isIt(value))?.key;
  if (hash === undefined) throw new ServiceError('key_not_found', `there is no key ${id}`);
  return hash;
}
