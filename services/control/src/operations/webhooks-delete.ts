import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import { findWebhook } from '../webhooks/webhook-records.ts';

/** Deletes the record; every instance sees the deletion and ends its feed. */
export function deleteWebhook({ webhooks, deliveries }: Pick<WebhookOperations, 'webhooks' | 'deliveries'>) {
  return async ({
    org,
    id,
  }: OperationRequest<'webhooks.delete'>): Promise<OperationResponse<'webhooks.delete'>> => {
    const { key } = await findWebhook(webhooks, org, id);
    await webhooks.delete(key);
    await deliveries.purge(key);
    return { id, object: 'webhook', deleted: true };
  };
}
