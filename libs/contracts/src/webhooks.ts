// Webhooks: /v1/webhooks…, their records in KV, and what is sent to them (Standard Webhooks).
import { z } from 'zod';
import { boundedList } from './bounded.ts';
import { EVENTS, type EventName } from './events.ts';
import { idOf } from './ids.ts';
import { listOf } from './lists.ts';

export const WEBHOOKS_PER_ORG_MAX = 20;
const WEBHOOK_URL_LENGTH_MAX = 2_048;
const WEBHOOK_DESCRIPTION_LENGTH_MAX = 500;
/** How long a rotated secret still signs, alongside its successor. */
export const WEBHOOK_SECRET_GRACE_MS = 24 * 3_600_000;

const NAMES = Object.keys(EVENTS) as EventName[];
const NOUNS = [...new Set(NAMES.map((name) => name.split('.')[0] as string))];

const PATTERNS = new Set<string>(['*', ...NAMES, ...NOUNS.map((noun) => `${noun}.*`)]);
const EVENTS_MAX = 100;

/** An event's name, all events of a noun (`computer.*`), or all (`*`). */
export const webhookEvent = z.string().refine((text) => PATTERNS.has(text), {
  error: 'not an event; docs/events.md lists them; computer.* or * match several',
});

const url = z.url({ protocol: /^https?$/, error: 'not an http(s) URL' }).max(WEBHOOK_URL_LENGTH_MAX);
const events = boundedList(webhookEvent, { min: 1, max: EVENTS_MAX });
const description = z
  .string()
  .max(WEBHOOK_DESCRIPTION_LENGTH_MAX)
  .nullish()
  .describe('What it is for, in your words');
const WHERE_TO = 'Where events are sent by POST: a public http(s) address';
const WHICH = 'Which events: names as docs/events.md has them, `computer.*` for all of a noun, or `*`';

export const createWebhookRequest = z
  .strictObject({ url: url.describe(WHERE_TO), events: events.describe(WHICH), description })
  .meta({ examples: [{ url: 'https://example.com/hook', events: ['video.completed', 'computer.*'] }] });
export type CreateWebhookRequest = z.infer<typeof createWebhookRequest>;

export const updateWebhookRequest = z
  .strictObject({
    url: url.optional().describe(WHERE_TO),
    events: events.optional().describe(WHICH),
    description,
    status: z
      .enum(['enabled', 'disabled'])
      .optional()
      .describe('`enabled` enables a disabled webhook; it gets the events from then on'),
  })
  .meta({ description: 'Omitted fields stay as they are', examples: [{ status: 'enabled' }] });
export type UpdateWebhookRequest = z.infer<typeof updateWebhookRequest>;

/** The last attempt that failed. */
export const webhookFailure = z.object({
  at: z.iso.datetime().describe('When'),
  event_id: z.string().describe('Id of the event that was to be sent'),
  event_type: z.string().describe('Its name'),
  http_status: z.int().nullable().describe('Of the endpoint’s answer; null where there was none'),
  message: z.string().describe('What went wrong'),
});

export const webhookObject = z.object({
  id: idOf('webhook').describe('Id of the webhook'),
  object: z.literal('webhook').describe('Always webhook'),
  url: z.string().describe('Where events are sent'),
  events: z.array(z.string()).describe('Which events'),
  description: z.string().nullable().describe('What it is for'),
  status: z.enum(['enabled', 'disabled']).describe('A disabled one gets no events'),
  disabled_reason: z
    .enum(['failing', 'gone', 'user'])
    .nullable()
    .describe('`failing`: it failed for too long; `gone`: it answered 410; `user`: on request'),
  failing_since: z.iso
    .datetime()
    .nullable()
    .describe('Since when every attempt at this URL has failed; null after a success'),
  last_error: webhookFailure.nullable().describe('The last failed attempt; null: none'),
  created_at: z.iso.datetime().describe('When it was made'),
});
export type WebhookObject = z.infer<typeof webhookObject>;
export const webhookList = listOf(webhookObject);

/** Attempts that are kept of each webhook, for a week. */
export const WEBHOOK_DELIVERIES_MAX = 50;
/** Type of the event that POST /v1/webhooks/{id}/test sends. */
export const WEBHOOK_TEST_EVENT = 'webhook.test';

/** One attempt to deliver an event. KV bucket `webhook-deliveries` holds it as it is. */
export const webhookDelivery = z.object({
  object: z.literal('webhook.delivery').describe('Always webhook.delivery'),
  event_id: z.string().describe('Id of the event, as in `webhook-id`'),
  event_type: z.string().describe('Name of the event'),
  at: z.iso.datetime().describe('When the attempt began'),
  delivered: z.boolean().describe('Whether the endpoint accepted the event'),
  http_status: z.int().nullable().describe('Status of the endpoint’s answer; null without an answer'),
  message: z.string().nullable().describe('Why the attempt failed; null for one that succeeded'),
  duration_ms: z.int().nonnegative().describe('Time until the answer or the failure'),
  next_attempt_at: z.iso
    .datetime()
    .nullable()
    .describe('When the event is sent again, at the earliest; null: it is not'),
});
export type WebhookDelivery = z.infer<typeof webhookDelivery>;
export const webhookDeliveryList = listOf(webhookDelivery);

/** The answers with the secret: of its creation, and of its rotation. */
export const webhookWithSecret = webhookObject.extend({
  secret: z.string().describe('Signs the deliveries: `whsec_` and base64'),
});
export type WebhookWithSecret = z.infer<typeof webhookWithSecret>;

export const deletedWebhook = z.object({
  id: z.string().describe('Id of the deleted webhook'),
  object: z.literal('webhook').describe('Always webhook'),
  deleted: z.literal(true).describe('Always true'),
});

/** Signs for the `callback_url`s of an org; created when first needed. */
export const signingSecret = z.object({
  object: z.literal('webhook_signing_secret').describe('Always webhook_signing_secret'),
  secret: z.string().describe('Signs what is sent to a `callback_url`: `whsec_` and base64'),
});
export type SigningSecret = z.infer<typeof signingSecret>;

/** `whsec_` and base64. A rotated one signs until `until`, after the newest, which is first. */
const storedSecret = z.object({ secret: z.string(), until: z.iso.datetime().nullable() });
export const storedSecrets = z.array(storedSecret).min(1);
export type StoredSecrets = z.infer<typeof storedSecrets>;

/** KV bucket `webhooks`, key `<org>.<id>`; written by control by compare-and-set. HMAC needs the secrets themselves. */
export const webhookRecord = webhookObject.omit({ object: true }).extend({
  org: idOf('org'),
  secrets: storedSecrets,
  /** Counts how often it was enabled: each time has a consumer of its own, which begins with the events from then on. */
  generation: z.int().positive(),
  enabled_at: z.iso.datetime(),
});
export type WebhookRecord = z.infer<typeof webhookRecord>;

/** KV bucket `webhook-secrets`: org -> secrets of its `callback_url`s. Written by control. */
export const signingSecretRecord = z.object({ org: idOf('org'), secrets: storedSecrets });
export type SigningSecretRecord = z.infer<typeof signingSecretRecord>;

export function toWebhookObject(record: WebhookRecord): WebhookObject {
  const { org: _org, secrets: _secrets, generation: _generation, enabled_at: _at, ...object } = record;
  return { object: 'webhook', ...object };
}

/** What a webhook is sent: an event, or the event of a test. */
export interface WebhookMessage {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly data: object;
}

/** The body of a message; the id is in the header `webhook-id`. */
export function webhookBody({ type, time, data }: WebhookMessage): string {
  return JSON.stringify({ type, timestamp: time, data });
}
