// Shared by the operations on makers' API keys.
import { type Bucket, type Bus, type EventPublisher, request } from '@switchyard/bus';
import {
  type Caller,
  type Event,
  eventIds,
  newId,
  type ProviderKeyRecord,
  type ProviderObject,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock, Logger, ProviderSeal } from '@switchyard/service';
import { type Acting, administered, controlEvent } from '../changes/administered.ts';

export interface ProviderOperations {
  readonly bus: Bus;
  readonly providerKeys: Bucket<ProviderKeyRecord>;
  readonly events: Pick<EventPublisher, 'publish'>;
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

/** The event of a maker's key that was set or removed, and by whom, without anything of the key. */
export function providerEvent(
  change: 'updated' | 'deleted',
  { by, provider, now }: { readonly by: Acting; readonly provider: string; readonly now: number },
): Event {
  const data = { org: by.org, provider, ...administered(by, null, null) };
  return controlEvent(`provider.${change}`, { id: eventIds.provider(provider, newId('event')), now, data });
}
