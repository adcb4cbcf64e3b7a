import type { OperationContext } from '@switchyard/bus';
import {
  newId,
  type OperationRequest,
  WEBHOOK_TEST_EVENT,
  type WebhookDelivery,
  type WebhookMessage,
} from '@switchyard/contracts';
import { recordDelivery } from '../webhooks/deliveries.ts';
import { send } from '../webhooks/send.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import { findWebhook } from '../webhooks/webhook-records.ts';

/** Sends a test event once, also to a disabled webhook. Its failure does not count against the webhook. */
export function testWebhook(
  deps: Pick<WebhookOperations, 'webhooks' | 'deliveries' | 'egress' | 'clock' | 'logger'>,
) {
  return async (
    { org, id }: OperationRequest<'webhooks.test'>,
    { signal }: Pick<OperationContext, 'signal'>,
  ): Promise<WebhookDelivery> => {
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
  };
}
