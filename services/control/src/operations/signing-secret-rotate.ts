import { eventIds, newId, type OperationRequest, type SigningSecret } from '@switchyard/contracts';
import { type Asked, actingOf, administered, controlEvent } from '../changes/administered.ts';
import { newestSecret } from '../webhooks/secrets.ts';
import { rotateSigningSecret } from '../webhooks/signing-secrets.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';

/** Creates a new secret; the former one also signs for a day. */
export function rotateOrgSigningSecret({
  signingSecrets,
  events,
  clock,
}: Pick<WebhookOperations, 'signingSecrets' | 'events' | 'clock'>) {
  return async (caller: OperationRequest<'signing-secret.rotate'>, asked: Asked): Promise<SigningSecret> => {
    const { org } = caller;
    const now = clock.now();
    const happened = controlEvent('signing_secret.rotated', {
      ...{ id: eventIds.signingSecret(org, newId('event')), now },
      data: { org, ...administered(actingOf(caller, asked), null, null) },
    });
    const secrets = await rotateSigningSecret({ bucket: signingSecrets, events }, { org, now, happened });
    return { object: 'webhook_signing_secret', secret: newestSecret(secrets) };
  };
}
