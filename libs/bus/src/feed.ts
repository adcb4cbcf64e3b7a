// Delivers events of a stream to one destination, through a durable consumer of its own. JetStream stores which
// events are delivered and when the others are due. Any number of instances pull from the consumer; events of an
// instance that dies are redelivered to another. A slow or dead destination delays only its own consumer.
import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  JetStreamApiError,
  type JsMsg,
} from '@nats-io/jetstream';
import type { Event } from '@switchyard/contracts';
import type { Bus, Logger } from './bus.ts';
import { ensureEventsStream } from './events.ts';

/** Result of an attempt: the event is settled, or is delivered again. */
export type Verdict = 'settled' | { readonly retryInMs: number };

/** An event to deliver, or the events of one message. */
export interface Delivery<T = Event> {
  readonly event: T;
  /** The subject on which it was published. */
  readonly subject: string;
  /** When the stream got it, by the server's clock. */
  readonly time: Date;
  readonly ageMs: number;
  /** How often it was delivered, this time included. */
  readonly deliveries: number;
  readonly signal: AbortSignal;
}

/** A durable consumer. */
interface ConsumerOptions {
  bus: Bus;
  stream: string;
  /** Name of the durable consumer. */
  name: string;
  description: string;
  /** Stream subjects that do not overlap. */
  subjects: readonly string[];
  /** Delivers events from this time on; by default all of the stream. */
  since?: Date;
  /** Events that may wait for their next attempt; further ones stay in the stream. Default: any number. */
  waitingMax?: number;
  /** Milliseconds; default `FEED_ACK_WAIT_MS`. */
  ackWaitMs?: number;
}

export interface FeedOptions<T = Event> extends ConsumerOptions {
  /** Concurrent attempts of one instance. */
  attemptsMax: number;
  /** Reads a message. @throws when it is not valid: then it is not delivered */
  read: (message: JsMsg) => T;
  /** Aborting the signal ends the attempt; its event is redelivered at once. */
  attempt: (delivery: Delivery<T>) => Promise<Verdict>;
  clock: { now(): number };
  logger: Logger;
}

const MS_NS = 1_000_000;
/** Longer than any attempt and the wait for a slot before it; a longer silence means that the event's process died. */
export const FEED_ACK_WAIT_MS = 30_000;
const UNLIMITED = -1;
/** Pause before a failed consumer is restarted, and before an event that failed internally is redelivered. */
const RETRY_DELAY_MS = 2_000;
/** Time for attempts to complete when the feed stops. */
const STOP_PATIENCE_MS = 5_000;
const ALREADY_EXISTS_CODES = [10_148, 10_013];
const NOT_FOUND_CODE = 10_014;

export class Feed<T = Event> {
  #deps: FeedOptions<T>;
  readonly #stopping = new AbortController();
  readonly #attempts = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  #messages: ConsumerMessages | null = null;
  #stopped = false;
  #wake: () => void = () => {};

  constructor(options: FeedOptions<T>) {
    this.#deps = options;
    this.#running = this.#run();
  }

  /** Switches to other subjects. @throws the error of the first attempt; it is repeated until it succeeds */
  async refilter(subjects: readonly string[]): Promise<void> {
    this.#deps = { ...this.#deps, subjects };
    try {
      await ensureConsumer(this.#deps);
    } catch (error) {
      this.#messages?.stop(); // the pull begins again with the new subjects
      throw error;
    }
  }

  /** Takes no further events and releases those it holds. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    this.#messages?.stop();
    const cut = setTimeout(() => this.#stopping.abort(new Error('the feed stops')), STOP_PATIENCE_MS);
    await this.#running;
    await Promise.allSettled(this.#attempts);
    clearTimeout(cut);
  }

  /** Stops at once, for all instances: drops the waiting events. */
  async remove(): Promise<void> {
    this.#stopping.abort(new Error('the feed is removed'));
    await this.stop();
    await deleteConsumer(this.#deps);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#pull(await ensureConsumer(this.#deps));
      } catch (error) {
        if (!this.#stopped)
          this.#deps.logger.warn({ err: error, consumer: this.#deps.name }, 'a feed failed and is restarted');
      }
      if (!this.#stopped) await this.#pause();
    }
  }

  async #pull(consumer: Consumer): Promise<void> {
    const { attemptsMax } = this.#deps;
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
    const event = this.#read(message);
    if (event === null) return message.term('not a valid event'); // billing keeps it
    message.working(); // restarts the ack timer: the event may have waited for its slot
    const { subject, time } = message;
    const ageMs = Math.max(0, this.#deps.clock.now() - time.getTime());
    try {
      const signal = this.#stopping.signal;
      const deliveries = message.info.deliveryCount;
      const verdict = await this.#deps.attempt({ event, subject, time, ageMs, deliveries, signal });
      if (verdict === 'settled') message.ack();
      else message.nak(verdict.retryInMs);
    } catch (error) {
      message.nak(this.#stopping.signal.aborted ? 0 : RETRY_DELAY_MS);
      if (!this.#stopping.signal.aborted)
        this.#deps.logger.error(
          { err: error, subject, consumer: this.#deps.name },
          'an attempt to deliver an event threw an error; retrying',
        );
    }
  }

  #read(message: JsMsg): T | null {
    try {
      return this.#deps.read(message);
    } catch {
      return null;
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_DELAY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Idempotent. */
async function ensureConsumer(options: ConsumerOptions): Promise<Consumer> {
  const { bus, stream, name, description, since } = options;
  const { ackWaitMs = FEED_ACK_WAIT_MS, waitingMax = UNLIMITED } = options;
  await ensureEventsStream(bus);
  const filter_subjects = [...options.subjects];
  try {
    await bus.jsm.consumers.add(stream, {
      durable_name: name,
      description,
      filter_subjects,
      ...(since
        ? { deliver_policy: DeliverPolicy.StartTime, opt_start_time: since.toISOString() }
        : { deliver_policy: DeliverPolicy.All }),
      ack_policy: AckPolicy.Explicit,
      ack_wait: ackWaitMs * MS_NS,
      max_ack_pending: waitingMax,
      max_deliver: UNLIMITED, // the age of an event decides how often it is delivered
    });
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !ALREADY_EXISTS_CODES.includes(error.code)) throw error;
    await bus.jsm.consumers.update(stream, name, { filter_subjects, max_ack_pending: waitingMax });
  }
  return bus.js.consumers.get(stream, name);
}

/** Idempotent. */
export async function deleteConsumer(
  options: Pick<ConsumerOptions, 'bus' | 'stream' | 'name'>,
): Promise<void> {
  const { bus, stream, name } = options;
  try {
    await bus.jsm.consumers.delete(stream, name);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== NOT_FOUND_CODE) throw error;
  }
}
