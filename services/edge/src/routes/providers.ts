// Makers' API keys, for the operator.
import type { Bus } from '@switchyard/bus';
import { z } from 'zod';
import type { Route } from '../http/route.ts';
import { operationRoutes } from './operation-route.ts';

const params = z.object({ maker: z.string().describe('Name of the maker, as GET /v1/providers lists it') });

export function providerRoutes(bus: Bus): Route[] {
  const operation = operationRoutes(bus, { tag: 'Providers', permission: 'operator' });
  return [
    operation('providers.list', {
      method: 'GET',
      path: '/v1/providers',
      operationId: 'listProviders',
      summary: 'List the makers, whether each has an API key, and from where; never the key',
      answer: 'The makers',
    }),
    operation('providers.set', {
      method: 'PUT',
      path: '/v1/providers/{maker}',
      operationId: 'setProvider',
      summary: 'Set the API key of a maker: calls use it at once, in place of the environment’s',
      params,
      answer: 'The maker as it is now',
      errors: ['provider_not_found', 'provider_keys_locked'],
    }),
    operation('providers.delete', {
      method: 'DELETE',
      path: '/v1/providers/{maker}',
      operationId: 'deleteProviderKey',
      summary: 'Remove the API key that was set: calls use the environment’s again',
      params,
      answer: 'What was removed',
      errors: ['provider_not_found'],
    }),
  ];
}
