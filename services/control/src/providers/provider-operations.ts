// What the operations on makers' API keys share.
import { type Bucket, type Bus, request } from '@switchyard/bus';
import {
  type Caller,
  type ProviderKeyRecord,
  type ProviderObject,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock, Logger, ProviderSeal } from '@switchyard/service';

export interface ProviderOperations {
  readonly bus: Bus;
  readonly providerKeys: Bucket<ProviderKeyRecord>;
  readonly seal: ProviderSeal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The provider as the router knows it, from its catalog. @throws ServiceError `provider_not_found` */
export async function findProvider(
  { bus }: Pick<ProviderOperations, 'bus'>,
  { org, key_id }: Caller,
  maker: string,
): Promise<ProviderObject> {
  const { data } = await request(bus, 'providers.list', { org, key_id, query: {} });
  const provider = data.find(({ id }) => id === maker);
  if (provider) return provider;
  const message = `Provider not found: ${maker}. GET /v1/providers lists all providers.`;
  throw new ServiceError('provider_not_found', message, { param: 'maker' });
}
