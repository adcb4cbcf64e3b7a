// A feed for each enabled webhook, kept in step with the bucket by every instance of control.
import { type Bucket, type Bus, type Mirror, mirrorBucket } from '@switchyard/bus';
import { EVENTS_STREAM, type Event, ServiceError, type WebhookRecord } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { eventSubjects } from './event-subjects.ts';
import { deleteConsumer, Feed, type Verdict } from './feed.ts';
import { nextTryMs, type RetrySchedule } from './retry-schedule.ts';
import { type Outcome, type Sender, send } from './send.ts';
import { changeWebhook } from './webhook-records.ts';

export interface WebhookFeedsOptions extends Sender {
  bus: Bus;
  bucket: Bucket<WebhookRecord>;
  schedule: RetrySchedule;
  random: () => number;
  logger: Logger;
}

/** Attempts of one webhook at the same time, by one instance. */
const ATTEMPTS_MAX = 4;
/** An endpoint's last error is written down this often at the most. */
const NOTE_PAUSE_MS = 1_000;
const CONSUMER_PREFIX = 'webhook-wh_';

interface OpenFeed {
  readonly generation: number;
  readonly feed: Feed;
  subjects: string[];
}

export class WebhookFeeds {
  readonly known: Mirror<WebhookRecord>;
  readonly #on: WebhookFeedsOptions;
  readonly #open = new Map<string, OpenFeed>();
  readonly #closing = new Set<Promise<void>>();
  readonly #notedAt = new Map<string, number>();

  private constructor(options: WebhookFeedsOptions, known: Mirror<WebhookRecord>) {
    this.#on = options;
    this.known = known;
  }

  static async start(options: WebhookFeedsOptions): Promise<WebhookFeeds> {
    await removeStrayConsumers(options);
    const feeds = new WebhookFeeds(options, await mirrorBucket(options.bus, options.bucket, { tick: false }));
    feeds.known.onChange((key, record) => feeds.#follow(key, record));
    for (const [key, record] of feeds.known.entries()) feeds.#follow(key, record);
    return feeds;
  }

  async stop(): Promise<void> {
    this.known.close();
    await Promise.all([...this.#open.values()].map(({ feed }) => feed.stop()));
    await Promise.all(this.#closing);
  }

  #follow(key: string, record: WebhookRecord | null): void {
    const wanted = record?.status === 'enabled' ? record : null;
    const open = this.#open.get(key);
    if (open && open.generation !== wanted?.generation) this.#close(key, open);
    if (!wanted) return;
    const subjects = eventSubjects(wanted.org, wanted.events);
    const still = this.#open.get(key);
    if (!still) {
      this.#open.set(key, { generation: wanted.generation, subjects, feed: this.#feedOf(wanted, subjects) });
    } else if (still.subjects.join() !== subjects.join()) {
      still.subjects = subjects;
      still.feed.refilter(subjects).catch((error: unknown) => {
        this.#on.logger.error({ err: error, webhook: wanted.id }, 'the events of a webhook were not changed');
      });
    }
  }

  #close(key: string, { feed }: OpenFeed): void {
    this.#open.delete(key);
    this.#notedAt.delete(key);
    const closing = feed
      .remove()
      .catch((error: unknown) =>
        this.#on.logger.warn({ err: error, webhook: key }, 'a consumer is left to the next start'),
      )
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #feedOf({ id, org, generation, enabled_at }: WebhookRecord, subjects: string[]): Feed {
    const { bus, clock, logger } = this.#on;
    return new Feed({
      bus,
      name: consumerName(id, generation),
      description: `delivers events of ${org} to its webhook ${id}`,
      subjects,
      since: new Date(enabled_at),
      attemptsMax: ATTEMPTS_MAX,
      attempt: (event, ageMs, signal) => this.#attempt(org, id, event, ageMs, signal),
      clock,
      logger,
    });
  }

  async #attempt(
    org: string,
    id: string,
    event: Event,
    ageMs: number,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const { bucket, schedule, random, logger } = this.#on;
    const key = `${org}.${id}`;
    const record = (await bucket.get(key))?.value;
    if (record?.status !== 'enabled') return 'settled'; // its feed is about to be removed
    const outcome = await send(this.#on, record, event, signal);
    if (outcome.taken) {
      if (record.failing_since !== null)
        await this.#note(org, id, (now) => ({ ...now, failing_since: null }));
      return 'settled';
    }
    const againInMs = nextTryMs(schedule, ageMs, random);
    if (againInMs === null)
      logger.warn({ webhook: id, event: event.id }, 'an event was not taken and is given up');
    await this.#noteFailure(record, event, outcome, againInMs === null);
    return againInMs === null || outcome.gone ? 'settled' : { againInMs };
  }

  async #noteFailure(
    { org, id }: WebhookRecord,
    event: Event,
    outcome: Outcome & { taken: false },
    givenUp: boolean,
  ): Promise<void> {
    const { clock, schedule } = this.#on;
    const now = clock.now();
    const key = `${org}.${id}`;
    const mayWait = !givenUp && !outcome.gone;
    if (mayWait && now - (this.#notedAt.get(key) ?? Number.NEGATIVE_INFINITY) < NOTE_PAUSE_MS) return;
    this.#notedAt.set(key, now);
    const at = new Date(now).toISOString();
    await this.#note(org, id, (record) => {
      const since = record.failing_since ?? at;
      const tooLong = givenUp && now - Date.parse(since) >= schedule.failingMsMax;
      const last_error = {
        at,
        event_id: event.id,
        event_type: event.type,
        http_status: outcome.status,
        message: outcome.message,
      };
      const noted = { ...record, failing_since: since, last_error };
      if (!outcome.gone && !tooLong) return noted;
      return { ...noted, status: 'disabled', disabled_reason: outcome.gone ? 'gone' : 'failing' };
    });
  }

  /** What is noted of a webhook must not keep its events from being delivered. */
  async #note(org: string, id: string, change: (record: WebhookRecord) => WebhookRecord): Promise<void> {
    try {
      await changeWebhook(this.#on.bucket, org, id, (record) =>
        record.status === 'enabled' ? change(record) : null,
      );
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'webhook_not_found') return;
      this.#on.logger.warn({ err: error, webhook: id }, 'the state of a webhook was not written');
    }
  }
}

function consumerName(id: string, generation: number): string {
  return `webhook-${id}-${generation}`;
}

/** Consumers of webhooks that went while no instance ran. A record is there before its consumer is. */
async function removeStrayConsumers({ bus, bucket, logger }: WebhookFeedsOptions): Promise<void> {
  const names: string[] = [];
  for await (const { name } of bus.jsm.consumers.list(EVENTS_STREAM))
    if (name.startsWith(CONSUMER_PREFIX)) names.push(name);
  if (names.length === 0) return;
  const records = (await bucket.entries()).map(({ value }) => value);
  const wanted = new Set(
    records
      .filter(({ status }) => status === 'enabled')
      .map(({ id, generation }) => consumerName(id, generation)),
  );
  for (const name of names.filter((one) => !wanted.has(one))) {
    await deleteConsumer(bus, name);
    logger.info({ consumer: name }, 'the consumer of a webhook that went was removed');
  }
}
