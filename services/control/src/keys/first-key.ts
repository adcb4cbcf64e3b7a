// The key that automation brings along (SWITCHYARD_KEY): accepted with every permission, in every installation it is
// set in. The launcher makes one at the first start, so that there is a key to make others with.
import { type Bucket, RevisionConflict } from '@switchyard/bus';
import { ALL_PERMISSIONS, DEFAULT_ORG, type KeyRecord } from '@switchyard/contracts';
import { hashKey, keyPrefix } from './secret.ts';

const ID_PREFIX = 'key_first_';

/** Whether a key is the one of the setting, and so is not revoked but taken away with it. */
export function isFirstKey(id: string): boolean {
  return id.startsWith(ID_PREFIX);
}

/**
 * Puts the key's record where it is missing, and takes away the key that was set before: whoever changes the setting
 * wants the old key to open nothing any more. Idempotent, over any number of instances.
 */
export async function ensureFirstKey(keys: Bucket<KeyRecord>, secret: string, now: number): Promise<void> {
  const hash = hashKey(secret);
  const record: KeyRecord = {
    id: ID_PREFIX + hash.slice(0, 12),
    org: DEFAULT_ORG,
    name: 'SWITCHYARD_KEY',
    permissions: [...ALL_PERMISSIONS],
    prefix: keyPrefix(secret),
    created_at: new Date(now).toISOString(),
    expires_at: null,
  };
  try {
    await keys.create(hash, record);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error; // it is there: from an earlier start, or another instance
  }
  const former = (await keys.entries()).filter(({ key, value }) => key !== hash && isFirstKey(value.id));
  await Promise.all(former.map(({ key }) => keys.delete(key)));
}
