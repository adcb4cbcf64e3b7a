// Webhooks as one part of control: their buckets, their feeds, and what their operations need.
import { type Bus, openBucket } from '@switchyard/bus';
import { type AllowList, createEgress } from '@switchyard/egress';
import type { Clock, Logger } from '@switchyard/service';
import { startCallbackFeed } from './callback-feed.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import { WebhookFeeds } from './webhook-feeds.ts';
import type { WebhookOperations } from './webhook-operations.ts';

export interface WebhooksOptions {
  bus: Bus;
  clock: Clock;
  logger: Logger;
  allow: AllowList;
  schedule: RetrySchedule;
  random: () => number;
}

export interface Webhooks {
  readonly operations: WebhookOperations;
  /** Ends what is being delivered, within seconds; what was not taken comes again, here or elsewhere. */
  stop(): Promise<void>;
}

/** The stream EVENTS must be there. */
export async function startWebhooks({ allow, ...on }: WebhooksOptions): Promise<Webhooks> {
  const { bus, clock } = on;
  const egress = createEgress({ allow });
  const webhooks = await openBucket(bus, 'webhooks');
  const signingSecrets = await openBucket(bus, 'webhook-secrets');
  const videos = await openBucket(bus, 'videos');
  const feeds = await WebhookFeeds.start({ ...on, egress, bucket: webhooks });
  const callbacks = startCallbackFeed({ ...on, egress, videos, signingSecrets });
  return {
    operations: { webhooks, known: feeds.known, signingSecrets, egress, clock },
    async stop() {
      await Promise.all([feeds.stop(), callbacks.stop()]);
    },
  };
}
