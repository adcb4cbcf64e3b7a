import {
  lastCharacters,
  type OperationRequest,
  type OperationResponse,
  type ProviderKeyRecord,
  ServiceError,
} from '@switchyard/contracts';
import { KeyLocked } from '@switchyard/service';
import { type Asked, actingOf } from '../changes/administered.ts';
import { changeWithEvents } from '../changes/write.ts';
import { findProvider, type ProviderOperations, providerEvent } from '../providers/provider-operations.ts';

/**
 * Stores the API key of a maker, encrypted; the services that call makers follow the bucket.
 * @throws ServiceError `provider_not_found`; `provider_keys_locked`, and then nothing is written
 */
export function setProvider(deps: ProviderOperations) {
  return async (
    { org, key_id, maker, body }: OperationRequest<'providers.set'>,
    asked: Asked,
  ): Promise<OperationResponse<'providers.set'>> => {
    const provider = await findProvider(deps, { org, key_id }, maker);
    await requireSecret(deps);
    const { providerKeys: bucket, events, seal, clock, logger } = deps;
    const now = clock.now();
    const record: ProviderKeyRecord = {
      sealed: orLocked(() => seal.seal(provider.env, body.api_key)),
      updated_at: new Date(now).toISOString(),
      by_key_id: key_id,
    };
    const by = actingOf({ org, key_id }, asked);
    const happened = providerEvent('updated', { by, provider: maker, now });
    await changeWithEvents(
      { bucket, events },
      provider.env,
      () => record,
      () => [happened],
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
  };
}

/** A key that is encrypted with a wrong secret would be of no use to the routers, so the secret must open the others. */
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
