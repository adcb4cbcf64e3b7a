// Webhook records in KV: found by org and id, changed by compare-and-set.
import type { Bucket, Entry } from '@switchyard/bus';
import { ServiceError, type WebhookRecord } from '@switchyard/contracts';

export function webhookKey({ org, id }: { org: string; id: string }): string {
  return `${org}.${id}`;
}

function webhookNotFound(id: string): ServiceError {
  return new ServiceError(
    'webhook_not_found',
    `Webhook not found: ${id}. GET /v1/webhooks lists your webhooks.`,
    { param: 'id' },
  );
}

/** @throws ServiceError `webhook_not_found`, also for a webhook of another org. */
export async function findWebhook(
  bucket: Bucket<WebhookRecord>,
  org: string,
  id: string,
): Promise<Entry<WebhookRecord>> {
  const entry = /^[\w-]+$/.test(id) ? await bucket.get(webhookKey({ org, id })) : null;
  if (!entry) throw webhookNotFound(id);
  return entry;
}

/**
 * Changes a webhook. `change` may run again on a newer record, and returns null when there is nothing to write.
 * @throws ServiceError `webhook_not_found`, `service_unavailable`.
 */
export async function changeWebhook(
  bucket: Bucket<WebhookRecord>,
  org: string,
  id: string,
  change: (record: WebhookRecord) => WebhookRecord | null,
): Promise<WebhookRecord> {
  const { key } = await findWebhook(bucket, org, id);
  const changed = await bucket.change(key, (entry) => entry && change(entry.value));
  if (!changed) throw webhookNotFound(id);
  return changed.value;
}
