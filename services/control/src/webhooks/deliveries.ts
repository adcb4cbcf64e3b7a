// The last attempts to deliver to each webhook, for the operators of its endpoint.
import type { Bucket } from '@switchyard/bus';
import type { WebhookDelivery, WebhookMessage, WebhookRecord } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { Outcome } from './send.ts';
import { webhookKey } from './webhook-records.ts';

export interface DeliveriesDeps {
  readonly deliveries: Bucket<WebhookDelivery>;
  readonly logger: Logger;
}

export interface Attempt {
  readonly webhook: WebhookRecord;
  readonly message: WebhookMessage;
  readonly outcome: Outcome;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
  readonly endedAt: number;
  /** Milliseconds until the event is sent again; null: it is not. */
  readonly retryInMs: number | null;
}

/** Records an attempt. A failed write is logged: it must not repeat a delivery. */
export async function recordDelivery(
  { deliveries, logger }: DeliveriesDeps,
  { webhook, message, outcome, beganAt, endedAt, retryInMs: againInMs }: Attempt,
): Promise<WebhookDelivery> {
  const delivery: WebhookDelivery = {
    object: 'webhook.delivery',
    event_id: message.id,
    event_type: message.type,
    at: new Date(beganAt).toISOString(),
    delivered: outcome.taken,
    http_status: outcome.status,
    message: outcome.taken ? null : outcome.message,
    duration_ms: Math.max(0, endedAt - beganAt),
    next_attempt_at: againInMs === null ? null : new Date(endedAt + againInMs).toISOString(),
  };
  try {
    await deliveries.put(webhookKey(webhook), delivery);
  } catch (error) {
    logger.warn({ err: error, webhook: webhook.id }, 'a delivery was not recorded');
  }
  return delivery;
}
