// Feeds of each enabled webhook, one per stream of events. Every instance of control keeps them in sync with the
// bucket.
import {
  type Bucket,
  type Bus,
  type Delivery,
  deleteConsumer,
  type EventPublisher,
  Feed,
  type FeedOptions,
  type Mirror,
  mirrorBucket,
  readEvent,
  type Verdict,
} from '@switchyard/bus';
import {
  EVENT_STREAMS,
  type Event,
  eventSubjects,
  ServiceError,
  type WebhookRecord,
} from '@switchyard/contracts';
import { type DeliveriesDeps, recordDelivery } from './deliveries.ts';
import { nextTryMs, type RetrySchedule } from './retry-schedule.ts';
import { type Outcome, type Sender, send } from './send.ts';
import { webhookChanged } from './webhook-events.ts';
import { changeWebhook, webhookKey } from './webhook-records.ts';

interface WebhookFeedsOptions extends Sender, DeliveriesDeps {
  bus: Bus;
  bucket: Bucket<WebhookRecord>;
  events: Pick<EventPublisher, 'publish'>;
  schedule: RetrySchedule;
  random: () => number;
}

/** Concurrent attempts per webhook and instance. */
const ATTEMPTS_MAX = 4;
/**
 * Events of one stream that may wait for a retry: 10 a second for 2.7 hours. They load the JetStream that stores charges:
 * those of one dead endpoint take 0.15 core at this bound, and 0.4 core at 400,000.
 */
const WAITING_MAX = 100_000;
/** Minimum interval between writes of an endpoint's last error. */
const ERROR_WRITE_INTERVAL_MS = 1_000;
const CONSUMER_PREFIX = 'webhook-wh_';

type Streamed = (typeof EVENT_STREAMS)[number];

interface OpenFeed {
  readonly generation: number;
  /** In the order of `EVENT_STREAMS`. */
  readonly feeds: readonly Feed[];
  events: readonly string[];
}

export class WebhookFeeds {
  readonly #deps: WebhookFeedsOptions;
  readonly #known: Mirror<WebhookRecord>;
  readonly #open = new Map<string, OpenFeed>();
  readonly #closing = new Set<Promise<void>>();
  readonly #errorWrittenAt = new Map<string, number>();

  private constructor(options: WebhookFeedsOptions, known: Mirror<WebhookRecord>) {
    this.#deps = options;
    this.#known = known;
  }

  static async start(options: WebhookFeedsOptions): Promise<WebhookFeeds> {
    await removeStrayConsumers(options);
    const feeds = new WebhookFeeds(options, await mirrorBucket(options.bus, options.bucket));
    feeds.#known.onChange((key, record) => feeds.#syncFeeds(key, record));
    for (const { key, value } of feeds.#known.entries()) feeds.#syncFeeds(key, value);
    return feeds;
  }

  async stop(): Promise<void> {
    this.#known.close();
    await Promise.all([...this.#open.values()].flatMap(({ feeds }) => feeds.map((feed) => feed.stop())));
    await Promise.all(this.#closing);
  }

  #syncFeeds(key: string, record: WebhookRecord | null): void {
    const wanted = record?.status === 'enabled' ? record : null;
    const open = this.#open.get(key);
    if (open && open.generation !== wanted?.generation) this.#close(key, open);
    if (!wanted) return;
    const { generation, events } = wanted;
    const current = this.#open.get(key);
    if (!current) {
      const feeds = EVENT_STREAMS.map((streamed) => this.#feedOf(wanted, streamed));
      this.#open.set(key, { generation, events, feeds });
    } else if (current.events.join() !== events.join()) {
      current.events = events;
      this.#refilter(current.feeds, wanted).catch((error: unknown) => {
        this.#deps.logger.error(
          { err: error, webhook: wanted.id },
          'the events of a webhook were not changed; retrying',
        );
      });
    }
  }

  async #refilter(feeds: readonly Feed[], { org, events }: WebhookRecord): Promise<void> {
    await Promise.all(
      EVENT_STREAMS.map(({ suffix }, index) => feeds[index]?.refilter(eventSubjects(org, events, suffix))),
    );
  }

  #close(key: string, { feeds }: OpenFeed): void {
    this.#open.delete(key);
    this.#errorWrittenAt.delete(key);
    const closing = Promise.all(feeds.map((feed) => feed.remove()))
      .then(() => {})
      .catch((error: unknown) =>
        this.#deps.logger.warn(
          { err: error, webhook: key },
          'a consumer was not removed; the next start does it',
        ),
      )
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #feedOf({ id, org, events, generation, enabled_at }: WebhookRecord, { stream, suffix }: Streamed): Feed {
    const { bus, clock, logger } = this.#deps;
    return new Feed({
      bus,
      stream,
      name: consumerName(id, generation),
      description: `delivers events of ${org} to its webhook ${id}`,
      subjects: eventSubjects(org, events, suffix),
      since: new Date(enabled_at),
      attemptsMax: ATTEMPTS_MAX,
      waitingMax: WAITING_MAX,
      read: readEvent,
      attempt: (delivery) => this.#attempt(org, id, delivery),
      clock,
      logger,
    });
  }

  async #attempt(org: string, id: string, { event, ageMs, signal }: Delivery): Promise<Verdict> {
    const { bucket, clock, schedule, random, logger } = this.#deps;
    const key = `${org}.${id}`;
    const record = (await bucket.get(key))?.value;
    if (record?.status !== 'enabled') return 'settled'; // the feed is about to be removed
    const beganAt = clock.now();
    const outcome = await send(this.#deps, record, event, signal);
    const endedAt = clock.now();
    const retryInMs = outcome.taken || outcome.gone ? null : nextTryMs(schedule, ageMs, random);
    await recordDelivery(this.#deps, {
      webhook: record,
      message: event,
      outcome,
      beganAt,
      endedAt,
      retryInMs,
    });
    if (outcome.taken) {
      if (record.failing_since !== null)
        await this.#updateRecord(record, (now) => ({ ...now, failing_since: null }));
      return 'settled';
    }
    if (retryInMs === null)
      logger.warn(
        { webhook: id, event: event.id },
        'the endpoint did not accept an event; it is not sent again',
      );
    await this.#recordFailure(record, event, outcome, retryInMs === null);
    return retryInMs === null ? 'settled' : { retryInMs };
  }

  async #recordFailure(
    attempted: WebhookRecord,
    event: Event,
    outcome: Outcome & { taken: false },
    givenUp: boolean,
  ): Promise<void> {
    const { clock, schedule } = this.#deps;
    const now = clock.now();
    const key = webhookKey(attempted);
    const mayWait = !givenUp && !outcome.gone;
    if (
      mayWait &&
      now - (this.#errorWrittenAt.get(key) ?? Number.NEGATIVE_INFINITY) < ERROR_WRITE_INTERVAL_MS
    )
      return;
    this.#errorWrittenAt.set(key, now);
    const at = new Date(now).toISOString();
    await this.#updateRecord(attempted, (record) => {
      const since = record.failing_since ?? at;
      const tooLong = givenUp && now - Date.parse(since) >= schedule.failingMsMax;
      const last_error = {
        at,
        event_id: event.id,
        event_type: event.type,
        http_status: outcome.status,
        message: outcome.message,
      };
      const updated = { ...record, failing_since: since, last_error };
      if (!outcome.gone && !tooLong) return updated;
      return { ...updated, status: 'disabled', disabled_reason: outcome.gone ? 'gone' : 'failing' };
    });
  }

  /** Updates the webhook's record, unless its URL has changed since. A failed update must not block deliveries. */
  async #updateRecord(
    { org, id, url }: WebhookRecord,
    change: (record: WebhookRecord) => WebhookRecord,
  ): Promise<void> {
    try {
      const { bucket: webhooks, events, clock } = this.#deps;
      await changeWebhook(
        { webhooks, events },
        { org, id },
        {
          change: (record) => (record.status === 'enabled' && record.url === url ? change(record) : null),
          eventsOf: (before, after) =>
            after.status === 'disabled'
              ? [webhookChanged('updated', before, after, { by: null, now: clock.now() })]
              : [],
        },
      );
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'webhook_not_found') return;
      this.#deps.logger.warn({ err: error, webhook: id }, 'the state of a webhook was not written');
    }
  }
}

function consumerName(id: string, generation: number): string {
  return `webhook-${id}-${generation}`;
}

/**
 * Removes consumers of webhooks that were deleted while no instance ran. A record always exists before its consumer.
 */
async function removeStrayConsumers({ bus, bucket, logger }: WebhookFeedsOptions): Promise<void> {
  const present: Pick<FeedOptions, 'stream' | 'name'>[] = [];
  for (const { stream } of EVENT_STREAMS)
    for await (const { name } of bus.jsm.consumers.list(stream))
      if (name.startsWith(CONSUMER_PREFIX)) present.push({ stream, name });
  if (present.length === 0) return;
  const records = (await bucket.entries()).map(({ value }) => value);
  const wanted = new Set(
    records
      .filter(({ status }) => status === 'enabled')
      .map(({ id, generation }) => consumerName(id, generation)),
  );
  for (const { stream, name } of present.filter((one) => !wanted.has(one.name))) {
    await deleteConsumer({ bus, stream, name });
    logger.info({ consumer: name }, 'the consumer of a deleted webhook was removed');
  }
}
