import {
  newId,
  type OperationRequest,
  ServiceError,
  toWebhookObject,
  WEBHOOKS_PER_ORG_MAX,
  type WebhookRecord,
  type WebhookWithSecret,
} from '@switchyard/contracts';
import { Locks } from '@switchyard/service';
import { type Asked, actingOf } from '../changes/administered.ts';
import { createWithEvents } from '../changes/write.ts';
import { firstSecret, newestSecret } from '../webhooks/secrets.ts';
import { webhookMadeOrGone } from '../webhooks/webhook-events.ts';
import { URL_CHECK_TIMEOUT_MS, type WebhookOperations } from '../webhooks/webhook-operations.ts';
import { webhookKey } from '../webhooks/webhook-records.ts';

/** Creates a webhook. It receives events from `enabled_at` on, whenever its feed starts. */
export function createWebhook({ webhooks, events, egress, clock }: WebhookOperations) {
  const locks = new Locks();
  return async (
    { body, ...caller }: OperationRequest<'webhooks.create'>,
    asked: Asked,
  ): Promise<WebhookWithSecret> => {
    const { org } = caller;
    await egress.check(body.url, { param: 'url', timeoutMs: URL_CHECK_TIMEOUT_MS });
    const time = clock.now();
    const now = new Date(time).toISOString();
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
    const created = webhookMadeOrGone('created', record, { by: actingOf(caller, asked), now: time });
    await locks.run(org, async () => {
      const count = (await webhooks.keys(`${org}.>`)).length;
      if (count >= WEBHOOKS_PER_ORG_MAX)
        throw new ServiceError(
          'invalid_request',
          `The org has the maximum of ${WEBHOOKS_PER_ORG_MAX} webhooks. Delete some first.`,
        );
      await createWithEvents({ bucket: webhooks, events }, webhookKey(record), record, [created]);
    });
    return { ...toWebhookObject(record), secret: newestSecret(record.secrets) };
  };
}
