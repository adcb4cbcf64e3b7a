// Webhooks as they stand in KV: found by their org and id, changed by compare-and-set.
import { type Bucket, type Entry, RevisionConflict } from '@switchyard/bus';
import { ServiceError, type WebhookRecord } from '@switchyard/contracts';

/** Times that a change is tried where others change the same record. */
const TRIES_MAX = 10;

export function webhookKey({ org, id }: { org: string; id: string }): string {
  return `${org}.${id}`;
}

export function webhookNotFound(id: string): ServiceError {
  return new ServiceError('webhook_not_found', `there is no webhook ${id}`, { param: 'id' });
}

/** @throws ServiceError `webhook_not_found`; the same for another org's. */
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
 * Changes a webhook; `change` may run again on a newer record, and returns null where nothing is to be written.
 * @throws ServiceError `webhook_not_found`, `service_unavailable`.
 */
export async function changeWebhook(
  bucket: Bucket<WebhookRecord>,
  org: string,
  id: string,
  change: (record: WebhookRecord) => WebhookRecord | null,
): Promise<WebhookRecord> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { key, value, revision } = await findWebhook(bucket, org, id);
    const changed = change(value);
    if (!changed) return value;
    try {
      await bucket.update(key, changed, revision);
      return changed;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new ServiceError('service_unavailable', `the webhook ${id} is being changed by others`, {
    retryAfterS: 1,
  });
}
