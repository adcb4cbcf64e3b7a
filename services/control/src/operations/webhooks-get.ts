import { type OperationRequest, toWebhookObject, type WebhookObject } from '@switchyard/contracts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import { findWebhook } from '../webhooks/webhook-records.ts';

export function getWebhook({ webhooks }: Pick<WebhookOperations, 'webhooks'>) {
  return async ({ org, id }: OperationRequest<'webhooks.get'>): Promise<WebhookObject> =>
    toWebhookObject((await findWebhook(webhooks, org, id)).value);
}
