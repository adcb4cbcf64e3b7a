// Webhook records in KV: found by org and id, changed by compare-and-set.
import type { Bucket, Entry } from '@switchyard/bus';
import { type Event, ServiceError, type WebhookRecord } from '@switchyard/contracts';
import { changeWithEvents } from '../changes/write.ts';
import type { WebhookOperations } from './webhook-operations.ts';

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
  const entry = await bucket.get(webhookKey({ org, id }));
  if (!entry) throw webhookNotFound(id);
  return entry;
}

interface WebhookChange {
  /** May run again on a newer record; null: there is nothing to write. */
  readonly change: (record: WebhookRecord) => WebhookRecord | null;
  readonly eventsOf: (before: Entry<WebhookRecord>, after: WebhookRecord) => readonly Event[];
}

/** @throws ServiceError `webhook_not_found`, `service_unavailable`. */
export async function changeWebhook(
  { webhooks, events }: Pick<WebhookOperations, 'webhooks' | 'events'>,
  { org, id }: { readonly org: string; readonly id: string },
  { change, eventsOf }: WebhookChange,
): Promise<WebhookRecord> {
  const { key } = await findWebhook(webhooks, org, id);
  const changed = await changeWithEvents(
    { bucket: webhooks, events },
    key,
    (entry) => entry && change(entry.value),
    (before, after) => (before ? eventsOf(before, after) : []),
  );
  if (!changed) throw webhookNotFound(id);
  return changed.value;
}
