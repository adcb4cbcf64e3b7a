// The key that automation brings along (SWITCHYARD_KEY): accepted with every permission, in every installation it is
// set in. The launcher makes one at the first start, so that there is a key to make others with.
import { type Bucket, RevisionConflict } from '@switchyard/bus';
import { ALL_PERMISSIONS, DEFAULT_ORG, type KeyRecord } from '@switchyard/contracts';
import { hashKey, keyPrefix } from './secret.ts';

/** Puts the key's record where it is missing. Idempotent, over any number of instances. */
export async function ensureFirstKey(keys: Bucket<KeyRecord>, secret: string, now: number): Promise<void> {
  const hash = hashKey(secret);
  const record: KeyRecord = {
    id: `key_first_${hash.slice(0, 12)}`,
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
}
