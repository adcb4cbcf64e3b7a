// The secret that signs an org's `callback_url`s: one per org, created on first use.
import type { Bucket, Entry, EventPublisher } from '@switchyard/bus';
import type { Event, SigningSecretRecord, StoredSecrets } from '@switchyard/contracts';
import { changeWithEvents } from '../changes/write.ts';
import { firstSecret, rotated } from './secrets.ts';

type SigningSecrets = Bucket<SigningSecretRecord>;

/** The org's secrets, the newest first. */
export async function signingSecretsOf(bucket: SigningSecrets, org: string): Promise<StoredSecrets> {
  const entry = await bucket.change(org, (current) => (current ? null : { org, secrets: firstSecret() }));
  return entry?.value.secrets ?? [];
}

interface Rotation {
  readonly org: string;
  readonly now: number;
  /** The event that the write publishes. */
  readonly event: Event;
}

/** Creates a new secret; the former one also signs for a day. */
export async function rotateSigningSecret(
  to: { readonly bucket: SigningSecrets; readonly events: Pick<EventPublisher, 'publish'> },
  { org, now, event }: Rotation,
): Promise<StoredSecrets> {
  const decide = (entry: Entry<SigningSecretRecord> | null) => ({
    org,
    secrets: rotated(entry?.value.secrets ?? firstSecret(), now),
  });
  const entry = await changeWithEvents(to, org, decide, () => [event]);
  return entry?.value.secrets ?? [];
}
