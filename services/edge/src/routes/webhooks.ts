// Webhooks over HTTP: control keeps them and delivers.
import { type Bus, request } from '@switchyard/bus';
import {
  createWebhookRequest,
  deletedWebhook,
  type KeyRecord,
  listOf,
  signingSecret,
  updateWebhookRequest,
  webhookObject,
  webhookWithSecret,
} from '@switchyard/contracts';
import { z } from 'zod';
import { requirePermission } from '../auth/authenticate.ts';
import { jsonRoute, type Route } from '../http/route.ts';

const TAG = 'Webhooks';
const params = z.object({ id: z.string().describe('Id of the webhook') });
const caller = (key: KeyRecord) => ({ org: key.org, key_id: key.id });
const URL_ERRORS = ['url_not_allowed', 'url_fetch_failed'] as const;
const BODY_ERRORS = ['invalid_json', 'invalid_request', 'unknown_field'] as const;

/** Whoever has events sent somewhere must be allowed to read them: `usage:read`, beside `keys:write` for the secrets. */
export function webhookRoutes(bus: Bus): Route[] {
  return [
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/webhooks',
        permission: 'keys:write',
        tag: TAG,
        summary: 'Have events sent to a URL; needs usage:read too. The answer alone shows the secret',
        request: { body: createWebhookRequest },
        response: { status: 201, description: 'The webhook, with its secret', body: webhookWithSecret },
        errors: [...BODY_ERRORS, ...URL_ERRORS, 'service_unavailable'],
      },
      ({ key, body }) => {
        requirePermission(key, 'usage:read');
        return request(bus, 'webhooks.create', { ...caller(key), body });
      },
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/webhooks',
        permission: 'keys:write',
        tag: TAG,
        summary: 'List the webhooks of your org, with their state',
        request: {},
        response: { status: 200, description: 'The webhooks', body: listOf(webhookObject) },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'webhooks.list', caller(key)),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/webhooks/signing_secret',
        permission: 'keys:write',
        tag: TAG,
        summary: 'The secret that signs what is sent to a callback_url',
        request: {},
        response: { status: 200, description: 'The secret', body: signingSecret },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'signing-secret.get', caller(key)),
    ),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/webhooks/signing_secret/rotate',
        permission: 'keys:write',
        tag: TAG,
        summary: 'A new secret for callback_urls; the former one signs along for 24 hours',
        request: {},
        response: { status: 200, description: 'The new secret', body: signingSecret },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'signing-secret.rotate', caller(key)),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/webhooks/{id}',
        permission: 'keys:write',
        tag: TAG,
        summary: 'A webhook and its state: the last error, and why it was disabled',
        request: { params },
        response: { status: 200, description: 'The webhook', body: webhookObject },
        errors: ['webhook_not_found', 'service_unavailable'],
      },
      ({ key, params: { id } }) => request(bus, 'webhooks.get', { ...caller(key), id }),
    ),
    jsonRoute(
      {
        method: 'PATCH',
        path: '/v1/webhooks/{id}',
        permission: 'keys:write',
        tag: TAG,
        summary: 'Change a webhook, or enable one that was disabled; needs usage:read too',
        request: { params, body: updateWebhookRequest },
        response: { status: 200, description: 'The webhook as it is now', body: webhookObject },
        errors: [...BODY_ERRORS, ...URL_ERRORS, 'webhook_not_found', 'service_unavailable'],
      },
      ({ key, params: { id }, body }) => {
        requirePermission(key, 'usage:read');
        const payload = { ...caller(key), id, body };
        return request(bus, 'webhooks.update', payload);
      },
    ),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/webhooks/{id}/rotate',
        permission: 'keys:write',
        tag: TAG,
        summary: 'A new secret; the former one signs along for 24 hours',
        request: { params },
        response: { status: 200, description: 'The webhook, with its new secret', body: webhookWithSecret },
        errors: ['webhook_not_found', 'service_unavailable'],
      },
      ({ key, params: { id } }) => request(bus, 'webhooks.rotate', { ...caller(key), id }),
    ),
    jsonRoute(
      {
        method: 'DELETE',
        path: '/v1/webhooks/{id}',
        permission: 'keys:write',
        tag: TAG,
        summary: 'Delete a webhook; nothing more is sent to it',
        request: { params },
        response: { status: 200, description: 'The webhook is gone', body: deletedWebhook },
        errors: ['webhook_not_found', 'service_unavailable'],
      },
      ({ key, params: { id } }) => request(bus, 'webhooks.delete', { ...caller(key), id }),
    ),
  ];
}
