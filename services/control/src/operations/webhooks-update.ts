import {
  type OperationRequest,
  toWebhookObject,
  type UpdateWebhookRequest,
  type WebhookObject,
  type WebhookRecord,
} from '@switchyard/contracts';
import { URL_CHECK_TIMEOUT_MS, type WebhookOperations } from '../webhooks/webhook-operations.ts';
import { changeWebhook, findWebhook } from '../webhooks/webhook-records.ts';

/** Changes the given fields. Enabling a disabled webhook starts afresh: missed events are not sent. */
export function updateWebhook({
  webhooks,
  egress,
  clock,
}: Pick<WebhookOperations, 'webhooks' | 'egress' | 'clock'>) {
  return async ({ org, id, body }: OperationRequest<'webhooks.update'>): Promise<WebhookObject> => {
    await findWebhook(webhooks, org, id); // reports an unknown webhook before it checks the new URL
    if (body.url !== undefined)
      await egress.check(body.url, { param: 'url', timeoutMs: URL_CHECK_TIMEOUT_MS });
    const now = new Date(clock.now()).toISOString();
    const changed = await changeWebhook(webhooks, org, id, (record) => ({
      ...record,
      url: body.url ?? record.url,
      events: body.events ? [...new Set(body.events)] : record.events,
      description: body.description === undefined ? record.description : body.description,
      ...statusChange(record, body.status, now),
    }));
    return toWebhookObject(changed);
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
