// The key of the setting SWITCHYARD_KEY, for automation. It has every permission. The launcher generates one at the
// first start, so that there is a key to create others with.
import { type Bucket, RevisionConflict } from '@switchyard/bus';
import { ALL_PERMISSIONS, DEFAULT_ORG, type KeyRecord, keyRecordKey } from '@switchyard/contracts';
import { hashKey, keyPrefix } from './secret.ts';

const ID_PREFIX = 'key_first_';

/** Returns the id of the key with this secret, if it comes from the setting. */
export function firstKeyId(secret: string): string {
  return ID_PREFIX + hashKey(secret).slice(0, 12);
}

/** Whether the key comes from the setting. Such a key cannot be revoked; it is removed by changing the setting. */
export function isFirstKey(id: string): boolean {
  return id.startsWith(ID_PREFIX);
}

/**
 * Creates the key's record if it is missing, and removes the key of an earlier setting, which must not work any more.
 * Idempotent, for any number of instances.
 */
export async function ensureFirstKey(keys: Bucket<KeyRecord>, secret: string, now: number): Promise<void> {
  const record: KeyRecord = {
    id: firstKeyId(secret),
    org: DEFAULT_ORG,
    name: 'SWITCHYARD_KEY',
    permissions: [...ALL_PERMISSIONS],
    prefix: keyPrefix(secret),
    created_at: new Date(now).toISOString(),
    expires_at: null,
    secrets: [{ hash: hashKey(secret), until: null }],
  };
  try {
    await keys.create(keyRecordKey(DEFAULT_ORG, record.id), record);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error; // created at an earlier start, or by another instance
  }
  const known = await keys.readableEntries(`${DEFAULT_ORG}.>`);
  const former = known.filter(({ value: { id } }) => id !== record.id && isFirstKey(id));
  await Promise.all(former.map(({ key }) => keys.delete(key)));
}
