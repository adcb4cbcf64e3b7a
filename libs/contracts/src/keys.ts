// API keys: the HTTP shapes, and the record in the KV bucket `keys`.
import { z } from 'zod';
import { spendLimit } from './accounts.ts';
import { boundedList } from './bounded.ts';
import { tags } from './caller-context.ts';
import { dollars } from './dollars.ts';
import { idOf } from './ids.ts';
import { listOf } from './lists.ts';
import { ALL_PERMISSIONS, permission } from './permissions.ts';
import { NO_RATE_LIMITS, rateLimits, rateLimitsChange } from './rate-limits.ts';

/** Minimum characters of a key that automation sets (`SWITCHYARD_KEY`). */
export const KEY_LENGTH_MIN = 20;
const KEY_NAME_LENGTH_MAX = 100;
export const KEYS_PER_ORG_MAX = 1_000;
const KEY_MODELS_MAX = 200;
/** Bytes of the list as JSON. The keys that a key creates inherit it. */
const KEY_MODELS_BYTES_MAX = 8 * 1024;
/** A week: long enough to bring a new secret everywhere. */
const GRACE_MINUTES_MAX = 7 * 24 * 60;
const GRACE_MINUTES_DEFAULT = 60;
/** Milliseconds since the epoch. Later times have five digits in the year, which `keyRecord` does not accept. */
const EXPIRES_AT_MS_MAX = Date.parse('9999-12-31T23:59:59.999Z');

const models = boundedList(z.string().min(1).max(256), { min: 1, max: KEY_MODELS_MAX }).refine(
  (list) => Buffer.byteLength(JSON.stringify(list)) <= KEY_MODELS_BYTES_MAX,
  `is over ${KEY_MODELS_BYTES_MAX} bytes of JSON`,
);

/** One of the secrets of a key. The secret itself is stored nowhere. */
const keySecret = z.object({
  /** SHA-256 of the secret, in hex. */
  hash: z.string(),
  /** When the secret expires; null: it is the current one. */
  until: z.iso.datetime().nullable(),
});
export type KeySecret = z.infer<typeof keySecret>;

/** KV bucket `keys`: `<org>.<key id>` -> this, as JSON. */
export const keyRecord = z.object({
  id: idOf('key').describe('Id of the key; it is not secret'),
  org: idOf('org').describe('The org that it belongs to'),
  name: z.string().describe('What it is for'),
  permissions: z.array(permission).describe('What it may do'),
  prefix: z.string().describe('First characters of the key, to tell keys apart in a list'),
  created_at: z.iso.datetime().describe('When it was made'),
  expires_at: z.iso.datetime().nullable().describe('When it expires; null: never'),
  limit: spendLimit.nullish().describe('What it may spend in each interval; null: as much as its org'),
  models: models
    .nullish()
    .describe('Models that it may use, `maker/*` for all of a maker; null: every model'),
  limits: rateLimits.nullish().describe('Its rate limits; those of the org hold as well'),
  metadata: tags.nullish().describe('Tags of every call with the key, and of every computer that it makes'),
  /** The current secret, then those that were rotated, the latest first. */
  secrets: z.array(keySecret),
});
export type KeyRecord = z.infer<typeof keyRecord>;

export function keyRecordKey(org: string, id: string): string {
  return `${org}.${id}`;
}

export const createKeyRequest = z
  .strictObject({
    name: z.string().min(1).max(KEY_NAME_LENGTH_MAX).describe('What the key is for'),
    permissions: boundedList(permission, { min: 1, max: ALL_PERMISSIONS.length }).describe(
      'What it may do: at most what the creating key may; write includes read',
    ),
    expires_at: z.iso
      .datetime({ offset: true })
      .refine((text) => !(Date.parse(text) > EXPIRES_AT_MS_MAX), 'is after the year 9999 in UTC')
      .nullish()
      .describe('When it expires; default: with the key that creates it'),
    limit: spendLimit
      .nullish()
      .describe('What it may spend in each interval; default: the limit of the key that makes it'),
    models: models
      .nullish()
      .describe(
        'Models that it may use, `maker/*` for all of a maker; default: those of the key that makes it',
      ),
    limits: rateLimitsChange
      .optional()
      .describe('Rate limits; default of each: that of the key that makes it'),
    metadata: tags
      .nullish()
      .describe(
        'Tags of every call with the key, and of every computer that it makes; a request cannot change them',
      ),
  })
  .meta({ examples: [{ name: 'a reader', permissions: ['usage:read'] }] });
export type CreateKeyRequest = z.infer<typeof createKeyRequest>;

/** Omitted fields stay as they are; null removes a limit. */
export const updateKeyRequest = createKeyRequest.partial().meta({
  examples: [
    { limit: { amount: 5, interval: 'day' }, models: ['local/*'] },
    { limits: { requests_per_minute: 60, concurrent_calls: 5 } },
    { limit: null },
  ],
});
export type UpdateKeyRequest = z.infer<typeof updateKeyRequest>;

export const keyObject = keyRecord.omit({ org: true, secrets: true }).extend({
  object: z.literal('key').describe('Always key'),
  limits: rateLimits.describe('Its rate limits; those of the org hold as well'),
  metadata: tags.describe('Tags of every call with the key, and of every computer that it makes'),
});
export type KeyObject = z.infer<typeof keyObject>;
export const keyList = listOf(keyObject);

/** The only answers that ever hold the key itself: this one, and that of a rotation. */
export const createdKey = keyObject.extend({
  key: z.string().describe('The key itself, shown this once'),
});
export type CreatedKey = z.infer<typeof createdKey>;

/** Former secrets of a key that are accepted at the same time. A further rotation ends the oldest. */
export const FORMER_SECRETS_MAX = 5;

export const rotateKeyRequest = z
  .strictObject({
    grace_minutes: z
      .int()
      .min(0)
      .max(GRACE_MINUTES_MAX)
      .default(GRACE_MINUTES_DEFAULT)
      .describe(
        `Minutes for which the former secret is accepted too; 0: it is refused at once. At most ${FORMER_SECRETS_MAX} former secrets are accepted: a further rotation ends the oldest`,
      ),
  })
  .meta({ examples: [{ grace_minutes: 60 }, { grace_minutes: 0 }] });

export const rotatedKey = createdKey.extend({
  former_until: z.iso.datetime().describe('When the former secret expires; its open connections end then'),
});
export type RotatedKey = z.infer<typeof rotatedKey>;

/** A key's spending in the current interval of its limit (without one, in the month), and when it was last used. */
export const keySpending = z.object({
  spent: dollars.describe(
    'US dollars that it, and the keys that it made under its limit, spent in the window',
  ),
  held: dollars.describe(
    'What running calls and computers of these keys may still cost, where something limits them',
  ),
  window: z
    .object({
      starts_at: z.iso.datetime().describe('Its first moment'),
      ends_at: z.iso.datetime().describe('The first moment after it'),
    })
    .describe('The current interval of its limit; without a limit, the UTC month'),
  last_used_at: z.iso
    .datetime()
    .nullable()
    .describe(
      'When its last call, or the last minute of a computer that it made, ended; null: none is in Logs. Requests without a line in Logs do not count',
    ),
});
export const keyWithSpending = keyObject.extend(keySpending.shape);
/** What a key sees of itself. */
export const ownKey = keyWithSpending.extend({ org: keyRecord.shape.org });

export const deletedKey = z.object({
  id: z.string().describe('Id of the deleted key'),
  object: z.literal('key').describe('Always key'),
  deleted: z.literal(true).describe('Always true'),
});

export function toKeyObject({
  limit = null,
  models = null,
  limits,
  metadata,
  ...record
}: KeyRecord): KeyObject {
  const { org: _org, secrets: _secrets, ...shown } = record;
  return {
    object: 'key',
    ...shown,
    limit,
    models,
    limits: limits ?? NO_RATE_LIMITS,
    metadata: metadata ?? {},
  };
}

/** Whether a key may use a model: by its name, or by `maker/*`. */
export function mayUse({ models }: Pick<KeyRecord, 'models'>, model: string): boolean {
  if (!models) return true;
  const maker = `${model.slice(0, model.indexOf('/'))}/*`;
  return models.includes(model) || models.includes(maker);
}
