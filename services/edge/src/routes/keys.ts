import { type Bus, request } from '@switchyard/bus';
import { type KeyRecord, keyWithSpending, ownKey } from '@switchyard/contracts';
import { z } from 'zod';
import { jsonRoute, type Route } from '../http/route.ts';
import { operationRoutes } from './operation-route.ts';

const COMMON = { tag: 'Keys', permission: 'keys:write' } as const;
const params = z.object({ id: z.string().describe('Id of the key') });

export function keyRoutes(bus: Bus): Route[] {
  const operation = operationRoutes(bus, COMMON);
  const find = async (key: KeyRecord, id: string) => {
    const caller = { org: key.org, key_id: key.id, id };
    const found = await request(bus, 'keys.get', caller);
    return { ...found, ...(await request(bus, 'keys.spending', caller)) };
  };
  return [
    operation('keys.create', {
      method: 'POST',
      path: '/v1/keys',
      operationId: 'createKey',
      summary: 'Create an API key; only this answer ever shows it',
      repeatable: false, // a repeat would make a second key
      status: 201,
      answer: 'The key',
    }),
    operation('keys.list', {
      method: 'GET',
      path: '/v1/keys',
      operationId: 'listKeys',
      summary: 'List the keys of your org',
      answer: 'The keys, without their secrets',
    }),
    jsonRoute(
      {
        ...COMMON,
        method: 'GET',
        path: '/v1/keys/{id}',
        operationId: 'getKey',
        summary: 'One key, and what it has spent in the interval of its limit',
        request: { params },
        response: { status: 200, description: 'The key, without its secret', body: keyWithSpending },
        errors: ['key_not_found'],
      },
      ({ key, params: { id } }) => find(key, id),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/key',
        operationId: 'getOwnKey',
        permission: 'any',
        tag: 'Keys',
        summary: 'The key of this request: its org, what it may do, and what it has spent',
        request: {},
        response: { status: 200, description: 'The key, without its secret', body: ownKey },
        errors: ['key_not_found'],
      },
      async ({ key }) => ({ ...(await find(key, key.id)), org: key.org }),
    ),
    operation('keys.update', {
      method: 'PATCH',
      path: '/v1/keys/{id}',
      operationId: 'updateKey',
      summary: 'Change a key: omitted fields stay as they are, null removes a limit',
      params,
      answer: 'The key as it is now',
      errors: ['key_not_found'],
    }),
    operation('keys.rotate', {
      method: 'POST',
      path: '/v1/keys/{id}/rotate',
      operationId: 'rotateKey',
      summary: 'Give a key a new secret; the former one is accepted until a grace period ends',
      params,
      answer: 'The key, with its new secret',
      errors: ['key_not_found'],
    }),
    operation('keys.delete', {
      method: 'DELETE',
      path: '/v1/keys/{id}',
      operationId: 'deleteKey',
      summary: 'Revoke a key; every edge refuses it within a second',
      params,
      answer: 'The key is gone',
      errors: ['key_not_found', 'invalid_request'],
    }),
  ];
}
