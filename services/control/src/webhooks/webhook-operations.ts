// What the operations on webhooks share.
import type { Bucket, Mirror } from '@switchyard/bus';
import type { SigningSecretRecord, WebhookRecord } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { Clock } from '@switchyard/service';

/** For the name in a URL to be resolved, while its caller waits. */
export const URL_CHECK_TIMEOUT_MS = 10_000;

export interface WebhookOperations {
  readonly webhooks: Bucket<WebhookRecord>;
  /** All webhooks in memory: an org's are found by going through them. */
  readonly known: Mirror<WebhookRecord>;
  readonly signingSecrets: Bucket<SigningSecretRecord>;
  readonly egress: Egress;
  readonly clock: Clock;
}
