// What signs the `callback_url`s of an org: one secret for each org, made when it is first asked for.
import { type Bucket, type Entry, RevisionConflict } from '@switchyard/bus';
import { ServiceError, type SigningSecretRecord } from '@switchyard/contracts';
import { firstSecret, rotated } from './secrets.ts';

const TRIES_MAX = 10;

export async function signingSecretOf(
  bucket: Bucket<SigningSecretRecord>,
  org: string,
): Promise<Entry<SigningSecretRecord>> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const entry = await bucket.get(org);
    if (entry) return entry;
    const value: SigningSecretRecord = { org, secrets: firstSecret() };
    try {
      return { key: org, value, revision: await bucket.create(org, value) };
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error; // another made it: read that one
    }
  }
  throw busy();
}

export async function rotateSigningSecret(
  bucket: Bucket<SigningSecretRecord>,
  org: string,
  now: number,
): Promise<SigningSecretRecord> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { value, revision } = await signingSecretOf(bucket, org);
    const changed = { ...value, secrets: rotated(value.secrets, now) };
    try {
      await bucket.update(org, changed, revision);
      return changed;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw busy();
}

function busy(): ServiceError {
  return new ServiceError('service_unavailable', 'the secret is being changed by others', { retryAfterS: 1 });
}
