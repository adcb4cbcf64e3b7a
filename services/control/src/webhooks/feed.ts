// Events of the stream to one destination, through a durable consumer of its own: JetStream remembers what has been
// delivered and when the rest is due. Any number of instances pull from it; what one had when it died comes again to
// another. A destination that is slow or dead keeps its own consumer waiting, and nobody else's.
import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiError,
  type JsMsg,
} from '@nats-io/jetstream';
import { type Bus, ensureEventsStream } from '@switchyard/bus';
import { EVENTS_STREAM, type Event, parseEvent } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';

/** What becomes of an event after an attempt: it is done with, or comes again. */
export type Verdict = 'settled' | { readonly againInMs: number };

export interface FeedOptions {
  bus: Bus;
  /** Of the durable consumer. */
  name: string;
  description: string;
  /** Subjects of the stream, none of which includes another. */
  subjects: readonly string[];
  /** Events from then on. */
  since: Date;
  /** Attempts of one instance at the same time. */
  attemptsMax: number;
  /** Aborting the signal ends the attempt, whose event comes again at once. */
  attempt: (event: Event, ageMs: number, signal: AbortSignal) => Promise<Verdict>;
  clock: Clock;
  logger: Logger;
}

const MS_NS = 1_000_000;
/** Longer than any attempt, and than the wait for a place before it: an event silent for longer was lost with its process. */
export const ACK_WAIT_MS = 30_000;
/** Events of one destination that wait for their next attempt; more wait in the stream. */
const ACK_PENDING_MAX = 5_000;
/** How often an event comes is decided by its age. */
const DELIVERIES_MAX = -1;
/** Pause before a consumer that failed is begun anew, and before an event that failed by our fault comes again. */
const AGAIN_MS = 2_000;
/** What attempts get to end by themselves when the feed stops. */
const STOP_PATIENCE_MS = 5_000;
const ALREADY_EXISTS_CODES = [10_148, 10_013];
const NOT_FOUND_CODE = 10_014;

export class Feed {
  readonly #on: FeedOptions;
  readonly #stopping = new AbortController();
  readonly #attempts = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  #subjects: readonly string[];
  #messages: ConsumerMessages | null = null;
  #stopped = false;
  #wake: () => void = () => {};

  constructor(options: FeedOptions) {
    this.#on = options;
    this.#subjects = options.subjects;
    this.#running = this.#run();
  }

  /** Takes events of other subjects from now on. */
  async refilter(subjects: readonly string[]): Promise<void> {
    this.#subjects = subjects;
    await this.#ensureConsumer();
  }

  /** Takes no further event, and lets go of those that it has. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    this.#messages?.stop();
    const cut = setTimeout(() => this.#stopping.abort(new Error('the feed stops')), STOP_PATIENCE_MS);
    await this.#running;
    await Promise.allSettled(this.#attempts);
    clearTimeout(cut);
  }

  /** Stops at once, and for all instances: the events that wait are dropped. */
  async remove(): Promise<void> {
    this.#stopping.abort(new Error('the feed is removed'));
    await this.stop();
    await deleteConsumer(this.#on.bus, this.#on.name);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#pull(await this.#ensureConsumer());
      } catch (error) {
        if (!this.#stopped)
          this.#on.logger.warn({ err: error, consumer: this.#on.name }, 'a feed is begun anew');
      }
      if (!this.#stopped) await this.#pause();
    }
  }

  async #pull(consumer: Consumer): Promise<void> {
    const { attemptsMax } = this.#on;
    const messages = await consumer.consume({ max_messages: attemptsMax, abort_on_missing_resource: true });
    this.#messages = messages;
    if (this.#stopped) messages.stop();
    for await (const message of messages) {
      while (this.#attempts.size >= attemptsMax) await Promise.race(this.#attempts);
      if (this.#stopped) message.nak();
      else this.#begin(message);
    }
  }

  #begin(message: JsMsg): void {
    const attempt = this.#attempt(message).finally(() => this.#attempts.delete(attempt));
    this.#attempts.add(attempt);
  }

  async #attempt(message: JsMsg): Promise<void> {
    const event = readEvent(message);
    if (event === null) return message.term('no event of ours'); // billing keeps it
    message.working(); // it may have waited for its place
    const ageMs = Math.max(0, this.#on.clock.now() - message.time.getTime());
    try {
      const verdict = await this.#on.attempt(event, ageMs, this.#stopping.signal);
      if (verdict === 'settled') message.ack();
      else message.nak(verdict.againInMs);
    } catch (error) {
      message.nak(this.#stopping.signal.aborted ? 0 : AGAIN_MS);
      if (!this.#stopping.signal.aborted)
        this.#on.logger.error({ err: error, event: event.id }, 'an attempt to deliver an event failed here');
    }
  }

  async #ensureConsumer(): Promise<Consumer> {
    const { bus, name, description, since } = this.#on;
    await ensureEventsStream(bus);
    const subjects = [...this.#subjects];
    try {
      await bus.jsm.consumers.add(EVENTS_STREAM, {
        durable_name: name,
        description,
        filter_subjects: subjects,
        deliver_policy: DeliverPolicy.StartTime,
        opt_start_time: since.toISOString(),
        ack_policy: AckPolicy.Explicit,
        ack_wait: ACK_WAIT_MS * MS_NS,
        max_ack_pending: ACK_PENDING_MAX,
        max_deliver: DELIVERIES_MAX,
      });
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || !ALREADY_EXISTS_CODES.includes(error.code)) throw error;
      await bus.jsm.consumers.update(EVENTS_STREAM, name, { filter_subjects: subjects });
    }
    return bus.js.consumers.get(EVENTS_STREAM, name);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, AGAIN_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Idempotent. */
export async function deleteConsumer(bus: Bus, name: string): Promise<void> {
  try {
    await bus.jsm.consumers.delete(EVENTS_STREAM, name);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== NOT_FOUND_CODE) throw error;
  }
}

function readEvent(message: JsMsg): Event | null {
  try {
    return parseEvent(message.json());
  } catch {
    return null;
  }
}
