import {
  type OperationRequest,
  toWebhookObject,
  type UpdateWebhookRequest,
  type WebhookObject,
  type WebhookRecord,
} from '@switchyard/contracts';
import { type Asked, actingOf } from '../changes/administered.ts';
import { webhookChanged } from '../webhooks/webhook-events.ts';
import { URL_CHECK_TIMEOUT_MS, type WebhookOperations } from '../webhooks/webhook-operations.ts';
import { changeWebhook, findWebhook } from '../webhooks/webhook-records.ts';

/** Changes the given fields. Enabling a disabled webhook starts afresh: missed events are not sent. */
export function updateWebhook(deps: Pick<WebhookOperations, 'webhooks' | 'events' | 'egress' | 'clock'>) {
  const { webhooks, egress, clock } = deps;
  return async (
    { org, key_id, id, body }: OperationRequest<'webhooks.update'>,
    asked: Asked,
  ): Promise<WebhookObject> => {
    await findWebhook(webhooks, org, id); // reports an unknown webhook before it checks the new URL
    if (body.url !== undefined)
      await egress.check(body.url, { param: 'url', timeoutMs: URL_CHECK_TIMEOUT_MS });
    const now = clock.now();
    const acting = { by: actingOf({ org, key_id }, asked), now };
    const record = await changeWebhook(
      deps,
      { org, id },
      {
        change: (before) => changed(before, body, new Date(now).toISOString()),
        eventsOf: (before, after) => [webhookChanged('updated', before, after, acting)],
      },
    );
    return toWebhookObject(record);
  };
}

function changed(record: WebhookRecord, body: UpdateWebhookRequest, now: string): WebhookRecord {
  const url = body.url ?? record.url;
  return {
    ...record,
    url,
    failing_since: url === record.url ? record.failing_since : null,
    events: body.events ? [...new Set(body.events)] : record.events,
    description: body.description === undefined ? record.description : body.description,
    ...statusChange(record, body.status, now),
  };
}

function statusChange(
  { status, generation }: WebhookRecord,
  wanted: UpdateWebhookRequest['status'],
  now: string,
): Partial<WebhookRecord> {
  if (wanted === undefined || wanted === status) return {};
  if (wanted === 'disabled') return { status: 'disabled', disabled_reason: 'user' };
  return {
    status: 'enabled',
    disabled_reason: null,
    failing_since: null,
    generation: generation + 1,
    enabled_at: now,
  };
}
