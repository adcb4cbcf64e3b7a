import {
  newId,
  type OperationRequest,
  ServiceError,
  toWebhookObject,
  WEBHOOKS_PER_ORG_MAX,
  type WebhookRecord,
  type WebhookWithSecret,
} from '@switchyard/contracts';
import { firstSecret, newestSecret } from '../webhooks/secrets.ts';
import { URL_CHECK_TIMEOUT_MS, type WebhookOperations } from '../webhooks/webhook-operations.ts';
import { webhookKey } from '../webhooks/webhook-records.ts';

/** Creates a webhook. It receives events from `enabled_at` on, whenever its feed starts. */
export function createWebhook({ webhooks, known, egress, clock }: WebhookOperations) {
  return async ({ org, body }: OperationRequest<'webhooks.create'>): Promise<WebhookWithSecret> => {
    const count = known.entries().filter(([, record]) => record.org === org).length;
    if (count >= WEBHOOKS_PER_ORG_MAX)
      throw new ServiceError(
        'invalid_request',
        `The org has the maximum of ${WEBHOOKS_PER_ORG_MAX} webhooks. Delete some first.`,
      );
    await egress.check(body.url, { param: 'url', timeoutMs: URL_CHECK_TIMEOUT_MS });
    const now = new Date(clock.now()).toISOString();
    const record: WebhookRecord = {
      id: newId('webhook'),
      org,
      url: body.url,
      events: [...new Set(body.events)],
      description: body.description ?? null,
      status: 'enabled',
      disabled_reason: null,
      failing_since: null,
      last_error: null,
      created_at: now,
      secrets: firstSecret(),
      generation: 1,
      enabled_at: now,
    };
    await webhooks.create(webhookKey(record), record);
    return { ...toWebhookObject(record), secret: newestSecret(record.secrets) };
  };
}
