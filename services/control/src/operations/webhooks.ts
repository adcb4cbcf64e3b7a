// Operations on webhooks, and on the secret that signs an org's `callback_url`s.
import type { Handlers, OperationContext } from '@switchyard/bus';
import {
  eventIds,
  newId,
  type OperationRequest,
  pageFrom,
  ServiceError,
  toWebhookObject,
  type UpdateWebhookRequest,
  WEBHOOK_TEST_EVENT,
  WEBHOOKS_PER_ORG_MAX,
  type WebhookMessage,
  type WebhookRecord,
  type WebhookWithSecret,
} from '@switchyard/contracts';
import { Locks } from '@switchyard/service';
import { actingOf, administered, controlEvent } from '../changes/administered.ts';
import { createWithEvents, deleteWithEvents } from '../changes/write.ts';
import { recordDelivery } from '../webhooks/deliveries.ts';
import { firstSecret, newestSecret, rotated } from '../webhooks/secrets.ts';
import { send } from '../webhooks/send.ts';
import { rotateSigningSecret, signingSecretsOf } from '../webhooks/signing-secrets.ts';
import { webhookChanged, webhookCreatedOrDeleted } from '../webhooks/webhook-events.ts';
import { URL_CHECK_TIMEOUT_MS, type WebhookOperations } from '../webhooks/webhook-operations.ts';
import { changeWebhook, findWebhook, webhookKey } from '../webhooks/webhook-records.ts';

export function webhookHandlers(deps: WebhookOperations) {
  const { webhooks, deliveries, signingSecrets, events, egress, clock } = deps;
  return {
    'webhooks.create': createWebhook(deps),

    /** Newest first. */
    'webhooks.list': async ({ org, query }) => {
      const records = (await webhooks.entries(`${org}.>`)).map(({ value }) => value);
      const data = records
        .sort((a, b) => b.created_at.localeCompare(a.created_at) || a.id.localeCompare(b.id))
        .map(toWebhookObject);
      return pageFrom(data, query, ({ id }) => id);
    },

    'webhooks.get': async ({ org, id }) => toWebhookObject((await findWebhook(webhooks, org, id)).value),

    /** Changes the given fields. Enabling a disabled webhook starts afresh: missed events are not sent. */
    'webhooks.update': async ({ org, key_id, id, body }, context) => {
      await findWebhook(webhooks, org, id); // reports an unknown webhook before it checks the new URL
      if (body.url !== undefined)
        await egress.check(body.url, { param: 'url', timeoutMs: URL_CHECK_TIMEOUT_MS });
      const now = clock.now();
      const acting = { by: actingOf({ org, key_id }, context), now };
      const record = await changeWebhook(
        deps,
        { org, id },
        {
          change: (before) => changed(before, body, new Date(now).toISOString()),
          eventsOf: (before, after) => [webhookChanged('updated', before, after, acting)],
        },
      );
      return toWebhookObject(record);
    },

    /** Creates a new secret; the former one also signs for a day. */
    'webhooks.rotate': async ({ org, key_id, id }, context) => {
      const now = clock.now();
      const acting = { by: actingOf({ org, key_id }, context), now };
      const record = await changeWebhook(
        deps,
        { org, id },
        {
          change: (before) => ({ ...before, secrets: rotated(before.secrets, now) }),
          eventsOf: (before, after) => [webhookChanged('rotated', before, after, acting)],
        },
      );
      return { ...toWebhookObject(record), secret: newestSecret(record.secrets) };
    },

    'webhooks.test': (request, context) => testWebhook(deps, request, context),

    /** The last attempts to deliver, newest first. */
    'webhooks.deliveries': async ({ org, id, query }) => {
      await findWebhook(webhooks, org, id);
      const kept = await deliveries.history(webhookKey({ org, id }));
      const data = kept.map(({ value }) => value).reverse();
      return pageFrom(data, query, ({ event_id, at }) => `${event_id}.${at}`); // an event may have several attempts
    },

    /** Deletes the record; every instance sees the deletion and ends its feed. */
    'webhooks.delete': async ({ org, key_id, id }, context) => {
      const { key, value } = await findWebhook(webhooks, org, id);
      const acting = { by: actingOf({ org, key_id }, context), now: clock.now() };
      const deleted = webhookCreatedOrDeleted('deleted', value, acting);
      await deleteWithEvents({ bucket: webhooks, events }, key, [deleted]);
      await deliveries.purge(key);
      return { id, object: 'webhook', deleted: true };
    },

    'signing-secret.get': async ({ org }) => {
      const secrets = await signingSecretsOf(signingSecrets, org);
      return { object: 'webhook_signing_secret', secret: newestSecret(secrets) };
    },

    /** Creates a new secret; the former one also signs for a day. */
    'signing-secret.rotate': async ({ org, key_id }, context) => {
      const now = clock.now();
      const event = controlEvent('signing_secret.rotated', {
        ...{ id: eventIds.signingSecret(org, newId('event')), now },
        data: { org, ...administered(actingOf({ org, key_id }, context), null, null) },
      });
      const secrets = await rotateSigningSecret({ bucket: signingSecrets, events }, { org, now, event });
      return { object: 'webhook_signing_secret', secret: newestSecret(secrets) };
    },
  } satisfies Handlers;
}

/** Creates a webhook. It receives events from `enabled_at` on, whenever its feed starts. */
function createWebhook({ webhooks, events, egress, clock }: WebhookOperations) {
  const locks = new Locks();
  return async (
    { body, ...caller }: OperationRequest<'webhooks.create'>,
    context: OperationContext,
  ): Promise<WebhookWithSecret> => {
    const { org } = caller;
    await egress.check(body.url, { param: 'url', timeoutMs: URL_CHECK_TIMEOUT_MS });
    const time = clock.now();
    const now = new Date(time).toISOString();
    const record: WebhookRecord = {
      id: newId('webhook'),
      org,
      url: body.url,
      events: [...new Set(body.events)],
      description: body.description ?? null,
      status: 'enabled',
      disabled_reason: null,
      failing_since: null,
      last_error: null,
      created_at: now,
      secrets: firstSecret(),
      generation: 1,
      enabled_at: now,
    };
    const created = webhookCreatedOrDeleted('created', record, { by: actingOf(caller, context), now: time });
    await locks.run(org, async () => {
      const count = (await webhooks.keys(`${org}.>`)).length;
      if (count >= WEBHOOKS_PER_ORG_MAX)
        throw new ServiceError(
          'invalid_request',
          `The org has the maximum of ${WEBHOOKS_PER_ORG_MAX} webhooks. Delete some first.`,
        );
      await createWithEvents({ bucket: webhooks, events }, webhookKey(record), record, [created]);
    });
    return { ...toWebhookObject(record), secret: newestSecret(record.secrets) };
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

/** Sends a test event once, also to a disabled webhook. Its failure does not count against the webhook. */
async function testWebhook(
  deps: WebhookOperations,
  { org, id }: OperationRequest<'webhooks.test'>,
  { signal }: OperationContext,
) {
  const webhook = (await findWebhook(deps.webhooks, org, id)).value;
  const beganAt = deps.clock.now();
  const message: WebhookMessage = {
    id: newId('event'),
    type: WEBHOOK_TEST_EVENT,
    time: new Date(beganAt).toISOString(),
    data: { org, webhook_id: id },
  };
  const outcome = await send(deps, webhook, message, signal);
  const attempt = { webhook, message, outcome, beganAt, endedAt: deps.clock.now(), retryInMs: null };
  return recordDelivery(deps, attempt);
}
