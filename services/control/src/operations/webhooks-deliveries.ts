import { type OperationRequest, type OperationResponse, pageFrom } from '@switchyard/contracts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import { findWebhook, webhookKey } from '../webhooks/webhook-records.ts';

/** Lists the last attempts to deliver to a webhook, newest first. */
export function listDeliveries({ webhooks, deliveries }: Pick<WebhookOperations, 'webhooks' | 'deliveries'>) {
  return async ({
    org,
    id,
    query,
  }: OperationRequest<'webhooks.deliveries'>): Promise<OperationResponse<'webhooks.deliveries'>> => {
    await findWebhook(webhooks, org, id);
    const kept = await deliveries.history(webhookKey({ org, id }));
    const data = kept.map(({ value }) => value).reverse();
    return pageFrom(data, query, ({ event_id, at }) => `${event_id}.${at}`); // an event may have several attempts
  };
}
