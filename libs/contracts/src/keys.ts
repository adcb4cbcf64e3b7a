// API keys: the HTTP shapes, and the record in the KV bucket `keys` under the SHA-256 of the key.
import { z } from 'zod';
import { idOf } from './ids.ts';
import { ALL_PERMISSIONS, permission } from './permissions.ts';

/** Characters after which an automation's own key (`SWITCHYARD_KEY`) is long enough to be accepted. */
export const KEY_LENGTH_MIN = 20;
export const KEY_NAME_LENGTH_MAX = 100;
export const KEYS_PER_ORG_MAX = 1_000;

/** KV bucket `keys`: SHA-256 of the key in hex -> this, as JSON. The key itself is stored nowhere. */
export const keyRecord = z.object({
  id: idOf('key'),
  org: idOf('org'),
  name: z.string(),
  permissions: z.array(permission),
  /** First characters of the key, to tell one from another in a list. */
  prefix: z.string(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
});
export type KeyRecord = z.infer<typeof keyRecord>;

export const createKeyRequest = z.strictObject({
  name: z.string().min(1).max(KEY_NAME_LENGTH_MAX),
  permissions: z.array(permission).min(1).max(ALL_PERMISSIONS.length),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});
export type CreateKeyRequest = z.infer<typeof createKeyRequest>;

export const keyObject = keyRecord.omit({ org: true }).extend({ object: z.literal('key') });
export type KeyObject = z.infer<typeof keyObject>;

/** The only answer that ever holds the key itself. */
export const createdKey = keyObject.extend({ key: z.string() });
export type CreatedKey = z.infer<typeof createdKey>;

export const deletedKey = z.object({ id: z.string(), object: z.literal('key'), deleted: z.literal(true) });

export function toKeyObject({ org: _org, ...record }: KeyRecord): KeyObject {
  return { object: 'key', ...record };
}
