import {
  lastCharacters,
  type OperationRequest,
  type OperationResponse,
  type ProviderObject,
  pageFrom,
} from '@switchyard/contracts';
import type { Catalog } from '../catalog/catalog.ts';
import { makersVariables, providerIdOf } from '../providers/provider-id.ts';
import type { ProviderKeys } from '../providers/provider-keys.ts';

export interface ProvidersListDeps {
  readonly catalog: Pick<Catalog, 'variables'>;
  readonly keys: ProviderKeys;
}

/** Lists every key that the catalog can use, and every stored one, by name. */
export function listProviders({ catalog, keys }: ProvidersListDeps) {
  return async ({
    query,
  }: OperationRequest<'providers.list'>): Promise<OperationResponse<'providers.list'>> => {
    await keys.caughtUp();
    const variables = new Set([...makersVariables(), ...catalog.variables(), ...keys.storedVariables()]);
    const providers = [...variables]
      .map((variable) => providerObject(keys, variable))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    return pageFrom(providers, query, ({ id }) => id);
  };
}

function providerObject(keys: ProviderKeys, env: string): ProviderObject {
  const stored = keys.stored(env);
  const ofEnvironment = keys.ofEnvironment(env);
  const key = stored ? stored.apiKey : (ofEnvironment ?? null);
  const source = stored ? 'api' : ofEnvironment === undefined ? null : 'environment';
  return {
    id: providerIdOf(env),
    object: 'provider',
    env,
    has_key: key !== null,
    source,
    last4: key === null ? null : lastCharacters(key),
    updated_at: stored?.updatedAt ?? null,
    unusable_reason: stored?.locked ?? null,
  };
}
