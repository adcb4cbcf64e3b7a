// Starts the webhooks of control: their buckets, their feeds, and the dependencies of their operations.
import { type Bus, type EventPublisher, openBucket } from '@switchyard/bus';
import { type AllowList, createEgress } from '@switchyard/egress';
import type { Clock, Logger } from '@switchyard/service';
import { startCallbackFeed } from './callback-feed.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import { WebhookFeeds } from './webhook-feeds.ts';
import type { WebhookOperations } from './webhook-operations.ts';

interface WebhooksOptions {
  bus: Bus;
  events: Pick<EventPublisher, 'publish'>;
  clock: Clock;
  logger: Logger;
  allow: AllowList;
  schedule: RetrySchedule;
  random: () => number;
}

export interface Webhooks {
  readonly operations: WebhookOperations;
  /** Ends deliveries within seconds; unsettled events are redelivered, here or at another instance. */
  stop(): Promise<void>;
}

/** Requires that the streams of events exist. */
export async function startWebhooks({ allow, ...deps }: WebhooksOptions): Promise<Webhooks> {
  const { bus, events, clock, logger } = deps;
  const egress = createEgress({ allow });
  const webhooks = await openBucket(bus, 'webhooks');
  const deliveries = await openBucket(bus, 'webhook-deliveries');
  const signingSecrets = await openBucket(bus, 'webhook-secrets');
  const videos = await openBucket(bus, 'videos');
  const feeds = await WebhookFeeds.start({ ...deps, egress, deliveries, bucket: webhooks });
  const callbacks = startCallbackFeed({ ...deps, egress, videos, signingSecrets });
  return {
    operations: { webhooks, deliveries, signingSecrets, events, egress, clock, logger },
    async stop() {
      await Promise.all([feeds.stop(), callbacks.stop()]);
    },
  };
}
