// Operations on the API keys of makers; the services that call makers follow their bucket.
import type { Handlers } from '@switchyard/bus';
import { lastCharacters, type ProviderKeyRecord, ServiceError } from '@switchyard/contracts';
import { KeyLocked } from '@switchyard/service';
import { actingOf } from '../changes/administered.ts';
import { changeWithEvents, deleteWithEvents } from '../changes/write.ts';
import { findProvider, type ProviderOperations, providerEvent } from '../providers/provider-operations.ts';

export function providerHandlers(deps: ProviderOperations) {
  const { providerKeys: bucket, events, seal, clock, logger } = deps;
  return {
    /**
     * Stores the API key of a maker, encrypted.
     * @throws ServiceError `provider_not_found`; `provider_keys_locked`, and then nothing is written
     */
    'providers.set': async ({ org, key_id, maker, body }, context) => {
      const provider = await findProvider(deps, { org, key_id }, maker);
      await requireSecret(deps);
      const now = clock.now();
      const record: ProviderKeyRecord = {
        sealed: orLocked(() => seal.seal(provider.env, body.api_key)),
        updated_at: new Date(now).toISOString(),
        by_key_id: key_id,
      };
      const by = actingOf({ org, key_id }, context);
      const event = providerEvent('updated', { by, provider: maker, now });
      await changeWithEvents(
        { bucket, events },
        provider.env,
        () => record,
        () => [event],
      );
      logger.info({ provider: maker, by: key_id }, 'the key of a provider was set');
      return {
        ...provider,
        has_key: true,
        source: 'api',
        last4: lastCharacters(body.api_key),
        updated_at: record.updated_at,
        unusable_reason: null,
      };
    },

    /**
     * Removes the stored key of a maker, if there is one; calls then use the environment's. Needs no secret, so that
     * keys which cannot be decrypted any more can be removed.
     * @throws ServiceError `provider_not_found`
     */
    'providers.delete': async ({ org, key_id, maker }, context) => {
      const { id, env } = await findProvider(deps, { org, key_id }, maker);
      const deleted = { id, object: 'provider', deleted: true } as const;
      const stored = await bucket.keys(env);
      if (stored.length === 0) return deleted;
      const by = actingOf({ org, key_id }, context);
      const event = providerEvent('deleted', { by, provider: id, now: clock.now() });
      await deleteWithEvents({ bucket, events }, env, [event]);
      logger.info({ provider: id, by: key_id }, 'the key of a provider was removed');
      return deleted;
    },
  } satisfies Handlers;
}

/** A key encrypted with a wrong secret would be useless to the routers, so the secret must open the others. */
async function requireSecret({ providerKeys, seal }: ProviderOperations): Promise<void> {
  const entries = await providerKeys.entries();
  for (const { key: variable, value } of entries) orLocked(() => seal.open(variable, value.sealed));
}

/** @throws ServiceError `provider_keys_locked` */
function orLocked<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof KeyLocked)) throw cause;
    throw new ServiceError('provider_keys_locked', `Nothing was stored: ${cause.message}.`, { cause });
  }
}
