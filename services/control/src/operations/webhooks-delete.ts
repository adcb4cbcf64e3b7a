import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { type Asked, actingOf } from '../changes/administered.ts';
import { deleteWithEvents } from '../changes/write.ts';
import { webhookMadeOrGone } from '../webhooks/webhook-events.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import { findWebhook } from '../webhooks/webhook-records.ts';

/** Deletes the record; every instance sees the deletion and ends its feed. */
export function deleteWebhook({
  webhooks,
  deliveries,
  events,
  clock,
}: Pick<WebhookOperations, 'webhooks' | 'deliveries' | 'events' | 'clock'>) {
  return async (
    { org, key_id, id }: OperationRequest<'webhooks.delete'>,
    asked: Asked,
  ): Promise<OperationResponse<'webhooks.delete'>> => {
    const { key, value } = await findWebhook(webhooks, org, id);
    const acting = { by: actingOf({ org, key_id }, asked), now: clock.now() };
    const deleted = webhookMadeOrGone('deleted', value, acting);
    await deleteWithEvents({ bucket: webhooks, events }, key, [deleted]);
    await deliveries.purge(key);
    return { id, object: 'webhook', deleted: true };
  };
}
