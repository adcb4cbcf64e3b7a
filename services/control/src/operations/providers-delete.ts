import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { type Asked, actingOf } from '../changes/administered.ts';
import { deleteWithEvents } from '../changes/write.ts';
import { findProvider, type ProviderOperations, providerEvent } from '../providers/provider-operations.ts';

/**
 * Removes the stored key of a maker, if there is one; calls then use the environment's. Needs no secret, so that keys
 * which cannot be decrypted any more can be removed.
 * @throws ServiceError `provider_not_found`
 */
export function deleteProviderKey(deps: ProviderOperations) {
  return async (
    { org, key_id, maker }: OperationRequest<'providers.delete'>,
    asked: Asked,
  ): Promise<OperationResponse<'providers.delete'>> => {
    const { id, env } = await findProvider(deps, { org, key_id }, maker);
    const { providerKeys: bucket, events, clock } = deps;
    const deleted = { id, object: 'provider', deleted: true } as const;
    const stored = await bucket.keys(env);
    if (stored.length === 0) return deleted;
    const by = actingOf({ org, key_id }, asked);
    const happened = providerEvent('deleted', { by, provider: id, now: clock.now() });
    await deleteWithEvents({ bucket, events }, env, [happened]);
    deps.logger.info({ provider: id, by: key_id }, 'the key of a provider was removed');
    return deleted;
  };
}
