// Finds the records of keys: one by its id, in the bucket, or those of an org, in memory.
import type { Bucket, Entry, Mirror } from '@switchyard/bus';
import { type KeyRecord, keyRecordKey, ServiceError } from '@switchyard/contracts';

/** @throws ServiceError `key_not_found`, also for a key of another org; `service_unavailable` */
export async function findKey(
  keys: Pick<Bucket<KeyRecord>, 'get'>,
  org: string,
  id: string,
): Promise<Entry<KeyRecord>> {
  return (await keys.get(keyRecordKey(org, id))) ?? keyNotFound(id);
}

/** The keys of an org in memory. */
export function keysOf(known: Pick<Mirror<KeyRecord>, 'valuesUnder'>, org: string): KeyRecord[] {
  return known.valuesUnder(keyRecordKey(org, ''));
}

export function keyNotFound(id: string): never {
  throw new ServiceError('key_not_found', `Key not found: ${id}. GET /v1/keys lists your keys.`);
}
