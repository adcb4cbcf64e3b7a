// Events to JetStream. An event is published until its PubAck is there; while JetStream is away it waits in a local
// outbox, synced to disk, that the next start of the service drains too.
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { EVENTS_STREAM, EVENTS_SUBJECTS, type Event, eventSubject, parseEvent } from '@switchyard/contracts';
import type { Bus, Logger } from './bus.ts';
import { ensureStream } from './ensure-stream.ts';
import { ADOPT_MS, adoptOrphans, type OwnFile, ownFile } from './own-file.ts';

const SECOND_NS = 1_000_000_000;
const DAY_NS = 24 * 3600 * SECOND_NS;
export const EVENTS_AGE_NS_MAX = 7 * DAY_NS;
/** JetStream knows a repeated id for this long; the ledger knows it for ever. */
export const DUPLICATE_WINDOW_NS = 120 * SECOND_NS;
const EVENTS_BYTES_MAX = 8 * 1024 ** 3;

/** How long one publish waits for its PubAck before the event goes to the outbox. */
const PUBACK_TIMEOUT_MS = 2_000;
const OUTBOX_AGAIN_MS = 500;

/** Makes the stream EVENTS where it is missing. Idempotent; waits for JetStream through the caller's retry. */
export async function ensureEventsStream(bus: Bus): Promise<void> {
  await ensureStream(bus, {
    name: EVENTS_STREAM,
    subjects: [EVENTS_SUBJECTS],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: EVENTS_AGE_NS_MAX,
    max_bytes: EVENTS_BYTES_MAX,
    duplicate_window: DUPLICATE_WINDOW_NS,
    num_replicas: 1,
  });
}

export interface EventPublisherOptions {
  bus: Bus;
  /** A folder on a volume that survives the instance. Instances may share it: each writes a file of its own. */
  outboxDir: string;
  logger: Logger;
}

export interface EventPublisher {
  /** Resolves once the event is durable: stored by JetStream, or synced into the outbox. */
  publish(event: Event): Promise<void>;
  /** Events that wait in the outbox. */
  readonly waiting: number;
  /** Waits for what is on its way, tries to empty the outbox a last time, and stops. */
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
  readonly #own: OwnFile;
  readonly #file: number;
  readonly #waiting = new Map<string, Event>();
  /** Publishes whose outcome is not known yet. */
  readonly #onTheirWay = new Set<Promise<void>>();
  #timers: NodeJS.Timeout[] = [];
  #draining: Promise<void> | null = null;

  constructor({ bus, outboxDir, logger }: EventPublisherOptions) {
    this.#bus = bus;
    this.#logger = logger;
    this.#folder = outboxDir;
    this.#own = ownFile(outboxDir, 'events');
    this.#file = openSync(this.#own.path, 'a+');
  }

  get waiting(): number {
    return this.#waiting.size;
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
    const publishing = this.#publishOrKeep(event).finally(() => this.#onTheirWay.delete(publishing));
    this.#onTheirWay.add(publishing);
    return publishing;
  }

  async #publishOrKeep(event: Event): Promise<void> {
    if (await this.#tryPublish(event)) return;
    this.#keep(event);
    this.#logger.warn({ event: event.id, waiting: this.#waiting.size }, 'an event waits in the outbox');
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.allSettled(this.#onTheirWay); // some may have to be kept
    await this.#drain();
    closeSync(this.#file);
    if (this.#waiting.size === 0) this.#own.remove();
    else this.#own.release();
  }

  /** Takes over what processes that died had in their outboxes. */
  #adopt(): void {
    for (const orphan of adoptOrphans(this.#folder, 'events')) {
      for (const event of readOutbox(orphan.path, this.#logger)) this.#keep(event);
      orphan.remove();
    }
  }

  #keep(event: Event): void {
    writeSync(this.#file, `${JSON.stringify(event)}\n`);
    fsyncSync(this.#file);
    this.#waiting.set(event.id, event);
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#drainOnce().finally(() => {
      this.#draining = null;
    });
    return this.#draining;
  }

  async #drainOnce(): Promise<void> {
    if (this.#waiting.size === 0) return;
    for (const [id, event] of this.#waiting) {
      if (!(await this.#tryPublish(event))) return;
      this.#waiting.delete(id);
    }
    if (this.#waiting.size > 0) return; // one came while the last was on its way
    ftruncateSync(this.#file, 0);
    this.#logger.info({}, 'the outbox is empty');
  }

  async #tryPublish(event: Event): Promise<boolean> {
    if (!this.#bus.connected) return false;
    try {
      const payload = JSON.stringify(event);
      await this.#bus.js.publish(eventSubject(event), payload, {
        msgID: event.id,
        timeout: PUBACK_TIMEOUT_MS,
      });
      return true;
    } catch (error) {
      this.#logger.debug({ err: error, event: event.id }, 'an event was not acknowledged');
      return false;
    }
  }
}

/** Events of an outbox file; a last line that was cut by a crash was never promised to anyone. */
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
