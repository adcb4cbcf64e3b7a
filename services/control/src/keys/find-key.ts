// Finds the records of a key by its id, in an up-to-date mirror in memory or else in the bucket.
import type { Bucket, Entry, Mirror } from '@switchyard/bus';
import { type KeyRecord, makersOf, ServiceError } from '@switchyard/contracts';

/** Time for the mirror to catch up with recent writes; after it the bucket itself is scanned. */
const CAUGHT_UP_MS_MAX = 500;

/** The bucket of keys, and this instance's mirror of it. */
export interface KnownKeys {
  readonly keys: Bucket<KeyRecord>;
  readonly known: Pick<Mirror<KeyRecord>, 'entries' | 'caughtUp'>;
}

/** A key by its secrets: the current one, and former ones that a rotation has retired or was about to retire. */
interface FoundKey {
  readonly current: Entry<KeyRecord>;
  readonly former: readonly Entry<KeyRecord>[];
}

/**
 * Returns all current records of an org's key. A missed secret would survive the revocation.
 * @throws ServiceError `key_not_found`, also for a key of another org; `service_unavailable`
 */
export async function findKey({ keys, known }: KnownKeys, org: string, id: string): Promise<FoundKey> {
  const isIt = (record: KeyRecord) => record.org === org && record.id === id;
  if (await known.caughtUp(CAUGHT_UP_MS_MAX)) {
    const inMemory = known.entries().filter(([, record]) => isIt(record));
    if (inMemory.length === 0) unknown(id);
    const read = await Promise.all(inMemory.map(([hash]) => keys.get(hash)));
    const found = inUse(read.filter((entry) => entry !== null));
    if (found) return found; // else the key was rotated or revoked in the meantime
  }
  return inUse((await keys.readableEntries()).filter(({ value }) => isIt(value))) ?? unknown(id);
}

/** The keys of an org in memory, each as it is under its current secret. */
export function keysOf({ known }: Pick<KnownKeys, 'known'>, org: string): KeyRecord[] {
  const records = known.entries().map(([, record]) => record);
  const inUse = records
    .filter((record) => record.org === org && !record.successor)
    .sort((a, b) => (a.rotation ?? 0) - (b.rotation ?? 0));
  return [...new Map(inUse.map((record) => [record.id, record])).values()];
}

/** Hashes and records of all keys that a limited key created directly. */
export async function secretsMadeBy(keys: KnownKeys, org: string, id: string) {
  const records = await recordsOf(keys, org);
  return records.filter(([, record]) => makersOf(record.id).at(-1) === id);
}

/** Hashes of all secrets of a key. */
export async function secretsOf(keys: KnownKeys, org: string, id: string): Promise<string[]> {
  const records = await recordsOf(keys, org);
  return records.filter(([, record]) => record.id === id).map(([hash]) => hash);
}

async function recordsOf({ keys, known }: KnownKeys, org: string): Promise<[string, KeyRecord][]> {
  const records: [string, KeyRecord][] = (await known.caughtUp(CAUGHT_UP_MS_MAX))
    ? known.entries()
    : (await keys.readableEntries()).map(({ key, value }) => [key, value]);
  return records.filter(([, record]) => record.org === org);
}

/** An interrupted rotation leaves two current secrets; the one of the later rotation wins. */
function inUse(entries: readonly Entry<KeyRecord>[]): FoundKey | null {
  const [current] = entries
    .filter(({ value }) => !value.successor)
    .sort((a, b) => (b.value.rotation ?? 0) - (a.value.rotation ?? 0));
  if (!current) return null;
  return { current, former: entries.filter((entry) => entry !== current) };
}

/** For a change that loses against a rotation, a revocation or another change. */
export function changedMeanwhile(): ServiceError {
  const message = 'The key was changed at the same time. Try again.';
  return new ServiceError('service_unavailable', message, { retryAfterS: 1 });
}

function unknown(id: string): never {
  throw new ServiceError('key_not_found', `Key not found: ${id}. GET /v1/keys lists your keys.`);
}
