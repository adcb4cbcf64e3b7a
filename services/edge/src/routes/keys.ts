import { type Bus, request } from '@switchyard/bus';
import {
  allows,
  createdKey,
  createKeyRequest,
  deletedKey,
  type KeyRecord,
  keyObject,
  keyWithSpending,
  listOf,
  type Permission,
  rotatedKey,
  rotateKeyRequest,
  ServiceError,
  updateKeyRequest,
} from '@switchyard/contracts';
import { z } from 'zod';
import { jsonRoute, type Route } from '../http/route.ts';

const TAG = 'Keys';
const params = z.object({ id: z.string().describe('Id of the key') });

export function keyRoutes(bus: Bus): Route[] {
  return [
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/keys',
        permission: 'keys:write',
        tag: TAG,
        summary: 'Make an API key; the answer is the only place that ever shows it',
        request: { body: createKeyRequest },
        response: { status: 201, description: 'The key', body: createdKey },
        errors: ['invalid_json', 'invalid_request', 'unknown_field', 'service_unavailable'],
      },
      ({ key, body }) => {
        requireOwn(key, body.permissions);
        return request(bus, 'keys.create', { org: key.org, key_id: key.id, body });
      },
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/keys',
        permission: 'keys:write',
        tag: TAG,
        summary: 'List the keys of your org',
        request: {},
        response: { status: 200, description: 'The keys, without their secrets', body: listOf(keyObject) },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'keys.list', { org: key.org, key_id: key.id }),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/keys/{id}',
        permission: 'keys:write',
        tag: TAG,
        summary: 'One key, and what it has spent in the interval of its limit',
        request: { params },
        response: { status: 200, description: 'The key, without its secret', body: keyWithSpending },
        errors: ['key_not_found', 'service_unavailable'],
      },
      async ({ key, params: { id } }) => {
        const caller = { org: key.org, key_id: key.id, id };
        const found = await request(bus, 'keys.get', caller);
        return { ...found, ...(await request(bus, 'keys.spending', caller)) };
      },
    ),
    jsonRoute(
      {
        method: 'PATCH',
        path: '/v1/keys/{id}',
        permission: 'keys:write',
        tag: TAG,
        summary: 'Change a key: what is left out stays as it is, null takes a limit away',
        request: { params, body: updateKeyRequest },
        response: { status: 200, description: 'The key as it is now', body: keyObject },
        errors: ['invalid_json', 'invalid_request', 'unknown_field', 'key_not_found', 'service_unavailable'],
      },
      ({ key, params: { id }, body }) => {
        requireOwn(key, body.permissions ?? []);
        return request(bus, 'keys.update', { org: key.org, key_id: key.id, id, body });
      },
    ),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/keys/{id}/rotate',
        permission: 'keys:write',
        tag: TAG,
        summary: 'Give a key a new secret; the former one is accepted until a grace period ends',
        request: { params, body: rotateKeyRequest },
        response: { status: 200, description: 'The key, with its new secret', body: rotatedKey },
        errors: ['invalid_json', 'invalid_request', 'unknown_field', 'key_not_found', 'service_unavailable'],
      },
      async ({ key, params: { id }, body }) => {
        const caller = { org: key.org, key_id: key.id, id };
        requireOwn(key, (await request(bus, 'keys.get', caller)).permissions);
        return request(bus, 'keys.rotate', { ...caller, body });
      },
    ),
    jsonRoute(
      {
        method: 'DELETE',
        path: '/v1/keys/{id}',
        permission: 'keys:write',
        tag: TAG,
        summary: 'Revoke a key; every edge refuses it within a second',
        request: { params },
        response: { status: 200, description: 'The key is gone', body: deletedKey },
        errors: ['key_not_found', 'service_unavailable'],
      },
      ({ key, params }) => request(bus, 'keys.delete', { org: key.org, key_id: key.id, id: params.id }),
    ),
  ];
}

/** @throws ServiceError `permission_denied`: nobody gives away more than he has. */
function requireOwn(key: KeyRecord, wanted: readonly Permission[]): void {
  const foreign = wanted.find((one) => !allows(key.permissions, one));
  if (foreign === undefined) return;
  const message = `a key gives only permissions that it has itself: this API key lacks ${foreign}`;
  throw new ServiceError('permission_denied', message);
}
