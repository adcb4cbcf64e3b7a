import { type OperationRequest, toWebhookObject, type WebhookWithSecret } from '@switchyard/contracts';
import { newestSecret, rotated } from '../webhooks/secrets.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import { changeWebhook } from '../webhooks/webhook-records.ts';

/** Creates a new secret; the former one also signs for a day. */
export function rotateWebhook({ webhooks, clock }: Pick<WebhookOperations, 'webhooks' | 'clock'>) {
  return async ({ org, id }: OperationRequest<'webhooks.rotate'>): Promise<WebhookWithSecret> => {
    const record = await changeWebhook(webhooks, org, id, (before) => ({
      ...before,
      secrets: rotated(before.secrets, clock.now()),
    }));
    return { ...toWebhookObject(record), secret: newestSecret(record.secrets) };
  };
}
