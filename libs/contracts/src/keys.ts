// API keys: the HTTP shapes, and the record in the KV bucket `keys` under the SHA-256 of the key.
import { z } from 'zod';
import { spendLimit } from './accounts.ts';
import { idOf } from './ids.ts';
import { ALL_PERMISSIONS, permission } from './permissions.ts';

/** Characters after which an automation's own key (`SWITCHYARD_KEY`) is long enough to be accepted. */
export const KEY_LENGTH_MIN = 20;
export const KEY_NAME_LENGTH_MAX = 100;
export const KEYS_PER_ORG_MAX = 1_000;
export const KEY_MODELS_MAX = 200;

const models = z.array(z.string().min(1).max(256)).min(1).max(KEY_MODELS_MAX);

/** KV bucket `keys`: SHA-256 of the key in hex -> this, as JSON. The key itself is stored nowhere. */
export const keyRecord = z.object({
  id: idOf('key').describe('Id of the key; it is no secret'),
  org: idOf('org').describe('The org that it belongs to'),
  name: z.string().describe('What it is for'),
  permissions: z.array(permission).describe('What it may do'),
  prefix: z.string().describe('First characters of the key, to tell one from another in a list'),
  created_at: z.iso.datetime().describe('When it was made'),
  expires_at: z.iso.datetime().nullable().describe('From when it is refused; null: never'),
  limit: spendLimit.nullish().describe('What it may spend in each interval; null: as much as its org'),
  models: models
    .nullish()
    .describe('Models that it may use, `maker/*` for all of a maker; null: every model'),
});
export type KeyRecord = z.infer<typeof keyRecord>;

export const createKeyRequest = z
  .strictObject({
    name: z.string().min(1).max(KEY_NAME_LENGTH_MAX).describe('What the key is for'),
    permissions: z
      .array(permission)
      .min(1)
      .max(ALL_PERMISSIONS.length)
      .describe('What it may do: only what the key that makes it may; write includes read'),
    expires_at: z.iso
      .datetime({ offset: true })
      .nullish()
      .describe('From when it is refused; default: never'),
    limit: spendLimit.nullish().describe('What it may spend in each interval; default: as much as its org'),
    models: models
      .nullish()
      .describe('Models that it may use, `maker/*` for all of a maker; default: every model'),
  })
  .meta({ examples: [{ name: 'a reader', permissions: ['usage:read'] }] });
export type CreateKeyRequest = z.infer<typeof createKeyRequest>;

/** What is left out stays as it is; null takes a limit away. */
export const updateKeyRequest = createKeyRequest
  .partial()
  .meta({ examples: [{ limit: { amount: 5, interval: 'day' }, models: ['local/*'] }, { limit: null }] });
export type UpdateKeyRequest = z.infer<typeof updateKeyRequest>;

export const keyObject = keyRecord
  .omit({ org: true })
  .extend({ object: z.literal('key').describe('Always key') });
export type KeyObject = z.infer<typeof keyObject>;

/** The only answer that ever holds the key itself. */
export const createdKey = keyObject.extend({
  key: z.string().describe('The key itself, shown this once'),
});
export type CreatedKey = z.infer<typeof createdKey>;

export const deletedKey = z.object({
  id: z.string().describe('Id of the key that is gone'),
  object: z.literal('key').describe('Always key'),
  deleted: z.literal(true).describe('Always true'),
});

export function toKeyObject({ org: _org, limit = null, models = null, ...record }: KeyRecord): KeyObject {
  return { object: 'key', ...record, limit, models };
}

/** Whether a key may use a model: by its name, or by `maker/*`. */
export function mayUse({ models }: Pick<KeyRecord, 'models'>, model: string): boolean {
  if (!models) return true;
  const maker = `${model.slice(0, model.indexOf('/'))}/*`;
  return models.includes(model) || models.includes(maker);
}
