import { type OperationRequest, toWebhookObject, type WebhookWithSecret } from '@switchyard/contracts';
import { type Asked, actingOf } from '../changes/administered.ts';
import { newestSecret, rotated } from '../webhooks/secrets.ts';
import { webhookChanged } from '../webhooks/webhook-events.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import { changeWebhook } from '../webhooks/webhook-records.ts';

/** Creates a new secret; the former one also signs for a day. */
export function rotateWebhook(deps: Pick<WebhookOperations, 'webhooks' | 'events' | 'clock'>) {
  return async (
    { org, key_id, id }: OperationRequest<'webhooks.rotate'>,
    asked: Asked,
  ): Promise<WebhookWithSecret> => {
    const now = deps.clock.now();
    const acting = { by: actingOf({ org, key_id }, asked), now };
    const record = await changeWebhook(
      deps,
      { org, id },
      {
        change: (before) => ({ ...before, secrets: rotated(before.secrets, now) }),
        eventsOf: (before, after) => [webhookChanged('rotated', before, after, acting)],
      },
    );
    return { ...toWebhookObject(record), secret: newestSecret(record.secrets) };
  };
}
