// Publishes events to JetStream until their PubAck arrives. While JetStream is down, events wait in a local outbox,
// synced to disk, which the next start of the service drains too.
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { DiscardPolicy, type PubAck, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import {
  EVENTS_STREAM,
  EVENTS_SUBJECTS,
  type Event,
  eventStream,
  eventSubject,
  eventSubjectOfHost,
  HOST_EVENTS_STREAM,
  HOST_EVENTS_SUBJECTS,
  isRefusal,
  parseEvent,
  RECEIPTS_STREAM,
  RECEIPTS_SUBJECTS,
  REFUSALS_STREAM,
  REFUSALS_SUBJECTS,
} from '@switchyard/contracts';
import type { Bus, Logger } from './bus.ts';
import { ensureStream } from './ensure-stream.ts';
import { ADOPT_MS, adoptOrphans, appendWhole, type OwnFile, ownFile } from './own-file.ts';
import { RefusedRows } from './refused-rows.ts';

const SECOND_NS = 1_000_000_000;
const DAY_NS = 24 * 3600 * SECOND_NS;
const EVENTS_AGE_NS_MAX = 7 * DAY_NS;
/** JetStream drops repeated ids within this window; the ledger drops them without a time limit. */
export const DUPLICATE_WINDOW_NS = 120 * SECOND_NS;
const EVENTS_BYTES_MAX = 8 * 1024 ** 3;
const REFUSALS_BYTES_MAX = 512 * 1024 ** 2;
/** About ten million answers. */
const RECEIPTS_BYTES_MAX = 512 * 1024 ** 2;
/** Events that control has not admitted yet: about a million, then they wait in the outboxes of the hosts. */
const HOST_EVENTS_BYTES_MAX = 1024 ** 3;
/** Those of one host, so that no host fills the stream. Control admits this many in less than a minute. */
const EVENTS_OF_HOST_MAX = 10_000;
/** An event with all tags that a computer may have is smaller. */
const HOST_EVENT_BYTES_MAX = 32 * 1024;

/** How long one publish waits for its PubAck before the event goes to the outbox. */
const PUBACK_TIMEOUT_MS = 2_000;
const OUTBOX_AGAIN_MS = 500;
/** Events of refused calls in the outbox, about a kilobyte each; further ones are dropped. */
const REFUSALS_WAITING_MAX = 10_000;

const ALIKE = {
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old,
  max_age: EVENTS_AGE_NS_MAX,
  duplicate_window: DUPLICATE_WINDOW_NS,
  num_replicas: 1,
};

/**
 * Creates the streams EVENTS, REFUSALS and HOST_EVENTS if missing. Idempotent; the caller retries while JetStream is down.
 * EVENTS discards its oldest events, which are booked: edges refuse work before an unbooked event gets that old.
 */
export async function ensureEventsStream(bus: Bus): Promise<void> {
  const events = { name: EVENTS_STREAM, subjects: [EVENTS_SUBJECTS], max_bytes: EVENTS_BYTES_MAX };
  const refusals = { name: REFUSALS_STREAM, subjects: [REFUSALS_SUBJECTS], max_bytes: REFUSALS_BYTES_MAX };
  await ensureStream(bus, { ...ALIKE, ...events });
  await ensureStream(bus, { ...ALIKE, ...refusals });
  await ensureHostEventsStream(bus);
}

/** Creates HOST_EVENTS if missing. Computer hosts open only this stream: the state of the others lists the orgs. */
export function ensureHostEventsStream(bus: Bus): Promise<void> {
  return ensureStream(bus, {
    ...ALIKE,
    name: HOST_EVENTS_STREAM,
    subjects: [HOST_EVENTS_SUBJECTS],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: EVENTS_OF_HOST_MAX,
    discard_new_per_subject: true,
    max_msg_size: HOST_EVENT_BYTES_MAX,
    max_bytes: HOST_EVENTS_BYTES_MAX,
    max_age: 0,
  });
}

/** Creates the stream RECEIPTS if missing: the costs that edges reported with their answers (contracts/receipts.ts). */
export function ensureReceiptsStream(bus: Bus): Promise<void> {
  const receipts = { name: RECEIPTS_STREAM, subjects: [RECEIPTS_SUBJECTS], max_bytes: RECEIPTS_BYTES_MAX };
  return ensureStream(bus, { ...ALIKE, ...receipts });
}

interface PublishOptions {
  readonly timeoutMs?: number;
  /** The computer host that publishes it: control admits it to the stream of events. */
  readonly host?: string | null;
}

/** Publishes an event; resolves with its PubAck. Without PubAck within `timeoutMs` it may still be stored. */
export function publishEvent(
  { js }: Pick<Bus, 'js'>,
  event: Event,
  { timeoutMs = PUBACK_TIMEOUT_MS, host = null }: PublishOptions = {},
): Promise<PubAck> {
  const subject = host === null ? eventSubject(event) : eventSubjectOfHost(host);
  return js.publish(subject, JSON.stringify(event), {
    // JetStream compares the ids of a whole stream: of hosts, one could take the id of another one's event.
    ...(host === null ? { msgID: event.id } : {}),
    expect: { streamName: host === null ? eventStream(event) : HOST_EVENTS_STREAM }, // makes it an event: read-event.ts
    timeout: timeoutMs,
  });
}

type Refusal = Event<'call.completed' | 'call.refused'>;

interface EventPublisherOptions {
  bus: Bus;
  /** A folder on a volume that outlives the instance. Instances may share it: each writes its own file. */
  outboxDir: string;
  logger: Logger;
  /** As in `PublishOptions`. */
  host?: string;
}

export interface EventPublisher {
  /**
   * Resolves when the event is durable: stored by JetStream or synced into the outbox. An event of a refused call may be
   * lost in a crash, and is dropped when its key has used up its allowance for this minute, or too many wait.
   * @throws when the outbox cannot be written (logged); the event is published from memory unless the process ends
   */
  publish(event: Event): Promise<void>;
  /** Number of dropped events of refused calls. */
  readonly refusalsDropped: number;
  /** Number of events in the outbox. */
  readonly waiting: number;
  /** Waits for publishes in flight, tries to empty the outbox a last time, and stops. */
  close(): Promise<void>;
}

export async function createEventPublisher(options: EventPublisherOptions): Promise<EventPublisher> {
  const publisher = new OutboxPublisher(options);
  publisher.start();
  return publisher;
}

class OutboxPublisher implements EventPublisher {
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #folder: string;
  readonly #host: string | null;
  readonly #own: OwnFile;
  readonly #file: number;
  readonly #waiting = new Map<string, Event>();
  #refusalsWaiting = 0;
  readonly #refusedRows = new RefusedRows();
  /** Publishes with an unknown outcome. */
  readonly #onTheirWay = new Set<Promise<void>>();
  #timers: NodeJS.Timeout[] = [];
  #draining: Promise<void> | null = null;

  constructor({ bus, outboxDir, logger, host }: EventPublisherOptions) {
    this.#bus = bus;
    this.#logger = logger;
    this.#folder = outboxDir;
    this.#host = host ?? null;
    this.#own = ownFile(outboxDir, 'events');
    this.#file = openSync(this.#own.path, 'a+');
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get refusalsDropped(): number {
    return this.#refusedRows.dropped;
  }

  start(): void {
    this.#adopt();
    this.#timers = [
      setInterval(() => void this.#drain(), OUTBOX_AGAIN_MS),
      setInterval(() => this.#adopt(), ADOPT_MS),
    ];
    void this.#drain();
  }

  publish(event: Event): Promise<void> {
    if (isRefusal(event) && !this.#refusedRows.take((event as Refusal).data.key_id)) return Promise.resolve();
    const publishing = this.#publishOrKeep(event).finally(() => this.#onTheirWay.delete(publishing));
    this.#onTheirWay.add(publishing);
    return publishing;
  }

  async #publishOrKeep(event: Event): Promise<void> {
    if (await this.#tryPublish(event)) return;
    if (isRefusal(event) && this.#refusalsWaiting >= REFUSALS_WAITING_MAX) {
      this.#refusedRows.dropped += 1;
      return;
    }
    this.#wait(event);
    try {
      this.#write([event]);
    } catch (error) {
      this.#logger.error(
        { err: error, alarm: 'outbox_not_written', event: event.id },
        'an event could not be written to the outbox and waits in memory',
      );
      throw error;
    }
    this.#logger.warn({ event: event.id, waiting: this.#waiting.size }, 'an event waits in the outbox');
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.allSettled(this.#onTheirWay); // some may have to go to the outbox
    await this.#drain();
    closeSync(this.#file);
    if (this.#waiting.size === 0) this.#own.remove();
    else this.#own.release();
  }

  /** Takes over the outboxes of dead processes; those that find no room are left for later. */
  #adopt(): void {
    try {
      for (const orphan of adoptOrphans(this.#folder, 'events')) this.#takeOver(orphan);
    } catch (error) {
      this.#logger.error({ err: error }, 'the outboxes of dead processes could not be taken over');
    }
  }

  #takeOver(orphan: OwnFile): void {
    try {
      const events = readOutbox(orphan.path, this.#logger);
      this.#write(events);
      for (const event of events) this.#wait(event);
    } catch (error) {
      orphan.release();
      throw error;
    }
    orphan.remove();
  }

  #wait(event: Event): void {
    if (isRefusal(event) && !this.#waiting.has(event.id)) this.#refusalsWaiting += 1;
    this.#waiting.set(event.id, event);
  }

  /** Only refusals need no sync: their rows may be missing. */
  #write(events: readonly Event[]): void {
    appendWhole(this.#file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    if (!events.every(isRefusal)) fsyncSync(this.#file);
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#drainOnce().finally(() => {
      this.#draining = null;
    });
    return this.#draining;
  }

  async #drainOnce(): Promise<void> {
    if (this.#waiting.size === 0) return;
    // Charges first: a stream that rejects refusals must never delay a charge.
    const inOrder = [...this.#waiting.values()].toSorted(
      (a, b) => Number(isRefusal(a)) - Number(isRefusal(b)),
    );
    for (const event of inOrder) {
      if (!(await this.#tryPublish(event))) return;
      this.#waiting.delete(event.id);
      if (isRefusal(event)) this.#refusalsWaiting -= 1;
    }
    if (this.#waiting.size > 0) return; // another event arrived during these publishes
    ftruncateSync(this.#file, 0);
    this.#logger.info({}, 'the outbox is empty');
  }

  async #tryPublish(event: Event): Promise<boolean> {
    if (!this.#bus.connected) return false;
    try {
      await publishEvent(this.#bus, event, { host: this.#host });
      return true;
    } catch (error) {
      this.#logger.debug({ err: error, event: event.id }, 'an event was not acknowledged');
      return false;
    }
  }
}

/** Events of an outbox file. A last line cut off by a crash was never acknowledged, so it is skipped. */
function readOutbox(path: string, logger: Logger): Event[] {
  const events: Event[] = [];
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '') continue;
    try {
      events.push(parseEvent(JSON.parse(line)));
    } catch (error) {
      logger.error({ err: error, line }, 'a line of the outbox is unreadable and is left out');
    }
  }
  return events;
}
