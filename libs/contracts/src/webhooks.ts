// Webhooks: /v1/webhooks…, their records in KV, and what is sent to them (Standard Webhooks).
import { z } from 'zod';
import { EVENTS, type Event, type EventName } from './events.ts';
import { idOf } from './ids.ts';

export const WEBHOOKS_PER_ORG_MAX = 20;
export const WEBHOOK_URL_LENGTH_MAX = 2_048;
export const WEBHOOK_DESCRIPTION_LENGTH_MAX = 500;
/** How long a secret that was rotated still signs, beside its successor. */
export const WEBHOOK_SECRET_GRACE_MS = 24 * 3_600_000;

const NAMES = Object.keys(EVENTS) as EventName[];
const NOUNS = [...new Set(NAMES.map((name) => name.split('.')[0] as string))];

const PATTERNS = new Set<string>(['*', ...NAMES, ...NOUNS.map((noun) => `${noun}.*`)]);
const EVENTS_MAX = 100;

/** An event's name, all events of a noun (`computer.*`), or all (`*`). */
export const webhookEvent = z.string().refine((text) => PATTERNS.has(text), {
  error: 'is no event; docs/events.md lists them, and computer.* or * stand for many',
});

const url = z.url({ protocol: /^https?$/, error: 'is an http(s) URL' }).max(WEBHOOK_URL_LENGTH_MAX);
const events = z.array(webhookEvent).min(1).max(EVENTS_MAX);
const description = z.string().max(WEBHOOK_DESCRIPTION_LENGTH_MAX);

export const createWebhookRequest = z.strictObject({ url, events, description: description.nullish() });
export type CreateWebhookRequest = z.infer<typeof createWebhookRequest>;

export const updateWebhookRequest = z.strictObject({
  url: url.optional(),
  events: events.optional(),
  description: description.nullish(),
  /** `enabled` starts a disabled one anew, with the events from now on. */
  status: z.enum(['enabled', 'disabled']).optional(),
});
export type UpdateWebhookRequest = z.infer<typeof updateWebhookRequest>;

/** The last attempt that failed. */
export const webhookFailure = z.object({
  at: z.iso.datetime(),
  event_id: z.string(),
  event_type: z.string(),
  /** Of the endpoint's answer; null where there was none. */
  http_status: z.int().nullable(),
  message: z.string(),
});
export type WebhookFailure = z.infer<typeof webhookFailure>;

export const webhookObject = z.object({
  id: idOf('webhook'),
  object: z.literal('webhook'),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  status: z.enum(['enabled', 'disabled']),
  /** `failing`: it took nothing for too long; `gone`: it answered 410; `user`: so asked for. */
  disabled_reason: z.enum(['failing', 'gone', 'user']).nullable(),
  /** Since when every attempt has failed; null after one that did not. */
  failing_since: z.iso.datetime().nullable(),
  last_error: webhookFailure.nullable(),
  created_at: z.iso.datetime(),
});
export type WebhookObject = z.infer<typeof webhookObject>;

/** The answers that hold the secret: of its making, and of its rotation. */
export const webhookWithSecret = webhookObject.extend({ secret: z.string() });
export type WebhookWithSecret = z.infer<typeof webhookWithSecret>;

export const deletedWebhook = z.object({
  id: z.string(),
  object: z.literal('webhook'),
  deleted: z.literal(true),
});

/** What signs `callback_url`s of an org: made when it is first needed. */
export const signingSecret = z.object({ object: z.literal('webhook_signing_secret'), secret: z.string() });
export type SigningSecret = z.infer<typeof signingSecret>;

/** `whsec_` and base64. One that was rotated away signs until `until`, after the newest, which comes first. */
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

/** KV bucket `webhook-secrets`: org -> what signs its `callback_url`s. Written by control. */
export const signingSecretRecord = z.object({ org: idOf('org'), secrets: storedSecrets });
export type SigningSecretRecord = z.infer<typeof signingSecretRecord>;

export function toWebhookObject(record: WebhookRecord): WebhookObject {
  const { org: _org, secrets: _secrets, generation: _generation, enabled_at: _at, ...object } = record;
  return { object: 'webhook', ...object };
}

/** What is sent; its id is in the header `webhook-id`. */
export function webhookBody({ type, time, data }: Event): string {
  return JSON.stringify({ type, timestamp: time, data });
}
