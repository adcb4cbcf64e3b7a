import type { OperationRequest, SigningSecret } from '@switchyard/contracts';
import { newestSecret } from '../webhooks/secrets.ts';
import { signingSecretsOf } from '../webhooks/signing-secrets.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';

/** Returns the secret that signs the org's `callback_url`s. */
export function getSigningSecret({ signingSecrets }: Pick<WebhookOperations, 'signingSecrets'>) {
  return async ({ org }: OperationRequest<'signing-secret.get'>): Promise<SigningSecret> => {
    const secrets = await signingSecretsOf(signingSecrets, org);
    return { object: 'webhook_signing_secret', secret: newestSecret(secrets) };
  };
}
