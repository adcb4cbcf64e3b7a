// The secret that signs an org's `callback_url`s: one per org, created on first use.
import type { Bucket } from '@switchyard/bus';
import type { SigningSecretRecord, StoredSecrets } from '@switchyard/contracts';
import { firstSecret, rotated } from './secrets.ts';

type SigningSecrets = Bucket<SigningSecretRecord>;

/** The org's secrets, the newest first. */
export function signingSecretsOf(bucket: SigningSecrets, org: string): Promise<StoredSecrets> {
  return change(bucket, org, (secrets) => (secrets ? null : firstSecret()));
}

/** Creates a new secret; the former one also signs for a day. */
export function rotateSigningSecret(
  bucket: SigningSecrets,
  org: string,
  now: number,
): Promise<StoredSecrets> {
  return change(bucket, org, (secrets) => rotated(secrets ?? firstSecret(), now));
}

async function change(
  bucket: SigningSecrets,
  org: string,
  decide: (secrets: StoredSecrets | null) => StoredSecrets | null,
): Promise<StoredSecrets> {
  const entry = await bucket.change(org, (current) => {
    const secrets = decide(current?.value.secrets ?? null);
    return secrets && { org, secrets };
  });
  return entry?.value.secrets ?? [];
}
