// The events of webhooks. An address may be a secret (its path or query often is), so they show only its origin.
import type { Entry } from '@switchyard/bus';
import { type Event, eventIds, toWebhookObject, type WebhookRecord } from '@switchyard/contracts';
import { type Acting, administered, controlEvent } from '../changes/administered.ts';

interface By {
  /** Null: disabled automatically, after failed deliveries. */
  readonly by: Acting | null;
  readonly now: number;
}

export function webhookCreatedOrDeleted(
  change: 'created' | 'deleted',
  record: WebhookRecord,
  { by, now }: By,
): Event {
  const shown = shownOf(record);
  const what = change === 'created' ? administered(by, null, shown) : administered(by, shown, null);
  const data = { ...what, org: record.org, webhook_id: record.id };
  return controlEvent(`webhook.${change}`, { id: eventIds.webhook(record.id, change), now, data });
}

export function webhookChanged(
  change: 'updated' | 'rotated',
  { value, revision }: Entry<WebhookRecord>,
  after: WebhookRecord,
  { by, now }: By,
): Event {
  const what = administered(by, shownOf(value), shownOf(after));
  if (value.url !== after.url) what.changes.url = { from: originOf(value.url), to: originOf(after.url) };
  const id = eventIds.webhookChanged(value.id, change, revision);
  const data = { ...what, org: value.org, webhook_id: value.id };
  return controlEvent(`webhook.${change}`, { id, now, data });
}

/** Without the fields that deliveries write: a failed delivery is not a change of the webhook. */
function shownOf(record: WebhookRecord) {
  const { failing_since: _since, last_error: _error, url, ...shown } = toWebhookObject(record);
  return { ...shown, url: originOf(url) };
}

function originOf(url: string): string {
  return `${new URL(url).origin}/…`;
}
