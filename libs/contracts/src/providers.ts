// Makers' API keys that an operator sets: /v1/providers, and their records in the KV bucket `provider-keys`.
import { z } from 'zod';
import { idOf } from './ids.ts';
import { listOf } from './lists.ts';

const PROVIDER_KEY_LENGTH_MIN = 8;
const PROVIDER_KEY_LENGTH_MAX = 1_024;
/** Characters shown of a key, if it is long enough to stay secret without them. */
const PROVIDER_KEY_SHOWN = 4;
const PROVIDER_KEY_SHOWN_FROM_LENGTH = 16;

/** Characters of SWITCHYARD_PROVIDERS_SECRET. */
export const PROVIDERS_SECRET_LENGTH_MIN = 32;

/** Variable that the catalog names (`api_key_env`) -> this. Only the services with the secret can open `sealed`. */
export const providerKeyRecord = z.object({
  /** AES-256-GCM; all in base64. The name of the variable is authenticated with it. */
  sealed: z.object({ iv: z.string(), tag: z.string(), data: z.string() }),
  updated_at: z.iso.datetime(),
  /** Who set it. */
  by_key_id: idOf('key'),
});
export type ProviderKeyRecord = z.infer<typeof providerKeyRecord>;

export const setProviderRequest = z
  .strictObject({
    api_key: z
      .string()
      .min(PROVIDER_KEY_LENGTH_MIN)
      .max(PROVIDER_KEY_LENGTH_MAX)
      .regex(/^[!-~]+$/, 'must be ASCII characters without spaces')
      .describe('The API key of the maker; it is stored encrypted, and never shown again'),
  })
  .meta({ examples: [{ api_key: 'sk-ant-api03-of-your-account' }] });

export const providerObject = z.object({
  id: z.string().describe('Name of the maker, as in /v1/providers/{maker}'),
  object: z.literal('provider').describe('Always provider'),
  env: z.string().describe('The environment variable that holds its key when the API has set none'),
  has_key: z.boolean().describe('Whether calls have a key to use'),
  source: z
    .enum(['api', 'environment'])
    .nullable()
    .describe('api: set here, which wins; environment: the variable; null: no key'),
  last4: z
    .string()
    .nullable()
    .describe('Last four characters of the key; null when it is short or cannot be read'),
  updated_at: z.iso.datetime().nullable().describe('When the key was set here; null: it was not'),
  unusable_reason: z
    .string()
    .nullable()
    .describe('Why the key that was set here cannot be used; null: it can'),
});
export type ProviderObject = z.infer<typeof providerObject>;
export const providerList = listOf(providerObject);

export const deletedProviderKey = z.object({
  id: z.string().describe('Name of the maker'),
  object: z.literal('provider').describe('Always provider'),
  deleted: z.literal(true).describe('Always true: calls use the key of the environment, if there is one'),
});

/** What may be shown of a key. */
export function lastCharacters(key: string): string | null {
  return key.length < PROVIDER_KEY_SHOWN_FROM_LENGTH ? null : key.slice(-PROVIDER_KEY_SHOWN);
}
