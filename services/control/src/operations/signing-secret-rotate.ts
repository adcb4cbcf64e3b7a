import type { OperationRequest, SigningSecret } from '@switchyard/contracts';
import { newestSecret } from '../webhooks/secrets.ts';
import { rotateSigningSecret } from '../webhooks/signing-secrets.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';

/** Creates a new secret; the former one also signs for a day. */
export function rotateOrgSigningSecret({
  signingSecrets,
  clock,
}: Pick<WebhookOperations, 'signingSecrets' | 'clock'>) {
  return async ({ org }: OperationRequest<'signing-secret.rotate'>): Promise<SigningSecret> => {
    const secrets = await rotateSigningSecret(signingSecrets, org, clock.now());
    return { object: 'webhook_signing_secret', secret: newestSecret(secrets) };
  };
}
