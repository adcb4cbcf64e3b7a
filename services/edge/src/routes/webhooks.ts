// Webhooks over HTTP; control stores and delivers them.
import type { Bus } from '@switchyard/bus';
import { z } from 'zod';
import type { Route } from '../http/route.ts';
import { operationRoutes } from './operation-route.ts';

const params = z.object({ id: z.string().describe('Id of the webhook') });
const URL_ERRORS = ['url_not_allowed', 'url_fetch_failed'] as const;

/** A webhook sends events out, so its creator needs `usage:read`, besides `keys:write` for the secrets. */
export function webhookRoutes(bus: Bus): Route[] {
  const operation = operationRoutes(bus, { tag: 'Webhooks', permission: 'keys:write' });
  return [
    operation('webhooks.create', {
      method: 'POST',
      path: '/v1/webhooks',
      operationId: 'createWebhook',
      summary: 'Send events to a URL; only this answer shows the secret',
      repeatable: false, // a repeat would make a second webhook
      alsoNeeds: 'usage:read',
      status: 201,
      answer: 'The webhook, with its secret',
      errors: URL_ERRORS,
    }),
    operation('webhooks.list', {
      method: 'GET',
      path: '/v1/webhooks',
      operationId: 'listWebhooks',
      summary: 'List the webhooks of your org, with their state',
      answer: 'The webhooks',
    }),
    operation('signing-secret.get', {
      method: 'GET',
      path: '/v1/webhooks/signing_secret',
      operationId: 'getSigningSecret',
      summary: 'The secret that signs what is sent to a callback_url',
      answer: 'The secret',
    }),
    operation('signing-secret.rotate', {
      method: 'POST',
      path: '/v1/webhooks/signing_secret/rotate',
      operationId: 'rotateSigningSecret',
      summary: 'A new secret for callback_urls; the former one also signs for 24 hours',
      answer: 'The new secret',
    }),
    operation('webhooks.get', {
      method: 'GET',
      path: '/v1/webhooks/{id}',
      operationId: 'getWebhook',
      summary: 'A webhook and its state: the last error, and why it was disabled',
      params,
      answer: 'The webhook',
      errors: ['webhook_not_found'],
    }),
    operation('webhooks.update', {
      method: 'PATCH',
      path: '/v1/webhooks/{id}',
      operationId: 'updateWebhook',
      summary: 'Change a webhook, or enable one that was disabled',
      alsoNeeds: 'usage:read',
      params,
      answer: 'The webhook as it is now',
      errors: [...URL_ERRORS, 'webhook_not_found'],
    }),
    operation('webhooks.rotate', {
      method: 'POST',
      path: '/v1/webhooks/{id}/rotate',
      operationId: 'rotateWebhookSecret',
      summary: 'A new secret; the former one also signs for 24 hours',
      params,
      answer: 'The webhook, with its new secret',
      errors: ['webhook_not_found'],
    }),
    operation('webhooks.test', {
      method: 'POST',
      path: '/v1/webhooks/{id}/test',
      operationId: 'testWebhook',
      summary: 'Send a test event now, also to a disabled webhook; it is not sent again',
      alsoNeeds: 'usage:read',
      params,
      answer: 'How the endpoint answered',
      errors: ['webhook_not_found'],
    }),
    operation('webhooks.deliveries', {
      method: 'GET',
      path: '/v1/webhooks/{id}/deliveries',
      operationId: 'listWebhookDeliveries',
      alsoNeeds: 'usage:read',
      summary: 'The last attempts to deliver to a webhook, newest first',
      params,
      answer: 'The attempts',
      errors: ['webhook_not_found'],
    }),
    operation('webhooks.delete', {
      method: 'DELETE',
      path: '/v1/webhooks/{id}',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook; nothing more is sent to it',
      params,
      answer: 'The webhook is gone',
      errors: ['webhook_not_found'],
    }),
  ];
}
