// Dependencies that the webhook operations share.
import type { Bucket, EventPublisher } from '@switchyard/bus';
import type { SigningSecretRecord, WebhookDelivery, WebhookRecord } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { Clock, Logger } from '@switchyard/service';

/** Time to resolve the host name of a URL while the caller waits. */
export const URL_CHECK_TIMEOUT_MS = 10_000;

export interface WebhookOperations {
  readonly webhooks: Bucket<WebhookRecord>;
  /** The last attempts of each webhook, as the history of its key. */
  readonly deliveries: Bucket<WebhookDelivery>;
  readonly signingSecrets: Bucket<SigningSecretRecord>;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly logger: Logger;
}
