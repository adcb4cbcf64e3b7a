// A typed KV bucket: parses values on read, compares revisions on write.
import { type JetStreamManager, type JsMsg, jetstream, type StoredMsg } from '@nats-io/jetstream';
import { type KV, type KvEntry, Kvm, type KvWatchEntry } from '@nats-io/kv';
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import { type Event, ServiceError } from '@switchyard/contracts';
import { BUCKETS, type BucketBounds, type BucketName, type BucketValue } from './buckets.ts';
import type { Bus } from './bus.ts';
import { EVENTS_HEADER, eventsIn, isEntry, isExpiry } from './entry-headers.ts';
import {
  keptEntries,
  keysUnder,
  type LastEntry,
  lastEntries,
  lastEntriesOf,
  OPERATION_HEADER,
  readAgain,
} from './last-entries.ts';

/** Control writes this key every second into buckets whose mirrors must be fresh. It is not an entry. */
export const TICK_KEY = 'tick';

export interface Entry<V> {
  key: string;
  value: V;
  revision: number;
}

/** The last write of a key: of an entry, or of the marker of its deletion. */
export interface LastWrite {
  readonly at: Date;
  /** The events that it carries (entry-headers.ts). */
  readonly events: readonly Event[];
}

/** Another writer changed the key first: read it again and decide again. */
export class RevisionConflict extends Error {
  constructor(bucket: string, key: string, cause?: unknown) {
    super(`${bucket}/${key} was changed concurrently`, { cause });
    this.name = 'RevisionConflict';
  }
}

/** JetStream's code for "wrong last sequence". */
const WRONG_LAST_SEQUENCE = 10_071;

/** Any other key could match several keys, or break the subject of a read. */
const KEY_PATTERN = /^[\w-]+(\.[\w-]+)*$/;
const KEY_CHARACTERS_MAX = 512;
/** Timeout of one read. With its repetitions it takes about as long as a restart of the server. */
const READ_TIMEOUT_MS = 1_500;
/** Pause between two reports of unreadable entries, so that their writer cannot fill the log. */
const UNREADABLE_REPORT_MS = 60_000;
/** Conflicts in a row before a change is given up; each conflict means that another writer succeeded. */
const CONFLICTS_MAX = 100;

/** Opens a bucket; creates it with its bounds on a new installation. */
export async function openBucket<N extends BucketName>(bus: Bus, name: N): Promise<Bucket<BucketValue<N>>> {
  const { maxBytes, ttlMs, schema, history = 1, markerTtlMs }: BucketBounds = BUCKETS[name];
  const kv = await new Kvm(bus.js).create(name, {
    history,
    max_bytes: maxBytes,
    ...(ttlMs === 0 ? {} : { ttl: ttlMs }),
    ...(markerTtlMs === undefined ? {} : { markerTTL: markerTtlMs }),
  });
  const readClient = jetstream(bus.nc, { timeout: READ_TIMEOUT_MS });
  const jsm = await readClient.jetstreamManager(false);
  const parse = (json: unknown) => schema.parse(json) as BucketValue<N>;
  return new Bucket<BucketValue<N>>({ bus, name, kv, jsm, parse, ttlMs, markerTtlMs });
}

interface BucketParts<V> {
  readonly bus: Pick<Bus, 'js' | 'logger'>;
  readonly name: string;
  readonly kv: KV;
  /** With the timeout of a read. */
  readonly jsm: JetStreamManager;
  readonly parse: (json: unknown) => V;
  /** As in `BucketBounds`. */
  readonly ttlMs: number;
  readonly markerTtlMs: number | undefined;
}

interface WriteOptions {
  /** Sequence number of the entry that is replaced; 0: none exists. */
  readonly revision?: number;
  /** Marks a deletion, or one that also removes earlier values. */
  readonly operation?: 'DEL' | 'PURGE';
  readonly events?: readonly Event[];
}

/** Every method throws ServiceError `service_unavailable` while JetStream is down; the write may have happened. */
export class Bucket<V> {
  readonly name: string;
  /** To watch the bucket. Its own writes lack the header of an entry, so nothing reads them. */
  readonly kv: KV;
  readonly parse: (json: unknown) => V;
  /** As in `BucketBounds`. */
  readonly ttlMs: number;
  readonly #bus: BucketParts<V>['bus'];
  readonly #jsm: JetStreamManager;
  readonly #stream: string;
  readonly #markerTtlMs: number | undefined;
  #unreadableReportedAt = Number.NEGATIVE_INFINITY;

  constructor({ bus, name, kv, jsm, parse, ttlMs, markerTtlMs }: BucketParts<V>) {
    this.name = name;
    this.kv = kv;
    this.parse = parse;
    this.ttlMs = ttlMs;
    this.#bus = bus;
    this.#jsm = jsm;
    this.#stream = `KV_${name}`;
    this.#markerTtlMs = markerTtlMs;
  }

  /** Null also for an invalid key, such as one with a wildcard: keys may contain input of callers. */
  async get(key: string): Promise<Entry<V> | null> {
    const entry = await this.#lastEntry(key);
    return entry && this.read(entry);
  }

  async #lastEntry(key: string): Promise<LastEntry | null> {
    if (!KEY_PATTERN.test(key) || key.length > KEY_CHARACTERS_MAX) return null;
    const last = await this.#guard(key, () => this.#last(key));
    if (last === null || last.header.has(OPERATION_HEADER)) return null;
    return { key, value: last.data, revision: last.seq };
  }

  /** The last message of a key: an entry, or the marker of its deletion. */
  async #last(key: string): Promise<StoredMsg | null> {
    const subject = this.#subject(key);
    const ask = () => this.#jsm.direct.getMessage(this.#stream, { last_by_subj: subject });
    const last = await readAgain(ask);
    if (last === null || isEntry(last.header, this.#stream, subject)) return last;
    this.#warnOfForgery(key, last.header);
    return null;
  }

  /** Null: nothing was ever written, or it has left the bucket. */
  async lastWrite(key: string): Promise<LastWrite | null> {
    const last = await this.#guard(key, () => this.#last(key));
    return last && { at: last.time, events: eventsIn(last.header) };
  }

  /** @throws RevisionConflict when the key exists. */
  create(key: string, value: V, events: readonly Event[] = []): Promise<number> {
    const text = JSON.stringify(value);
    return this.#guard(key, async () => {
      try {
        return await this.#write(key, text, { revision: 0, events });
      } catch (error) {
        if (!isWrongLastSequence(error)) throw error;
        const last = await this.#last(key);
        if (last && !last.header.has(OPERATION_HEADER)) throw error;
        // Deleted: replaces the marker. Forged: no revision is known, so the conflict stays.
        return await this.#write(key, text, { revision: last?.seq ?? 0, events });
      }
    });
  }

  /** @throws RevisionConflict when the key has another revision. */
  update(key: string, value: V, revision: number, events: readonly Event[] = []): Promise<number> {
    return this.#guard(key, () => this.#write(key, JSON.stringify(value), { revision, events }));
  }

  put(key: string, value: V): Promise<number> {
    return this.#guard(key, () => this.#write(key, JSON.stringify(value)));
  }

  /** Writes the tick, by which mirrors notice that their watch is silent. */
  async tick(by: string): Promise<void> {
    await this.#guard(TICK_KEY, () => this.#write(TICK_KEY, by));
  }

  /**
   * Changes an entry by compare-and-set. `decide` gets the current entry, runs again after a conflict with another
   * writer, and returns the new value, or null to change nothing. `eventsOf` returns the events that the write carries.
   * @returns the resulting entry; null: it does not exist
   * @throws errors of `decide`; ServiceError `service_unavailable`, also after CONFLICTS_MAX conflicts
   */
  async change(
    key: string,
    decide: (entry: Entry<V> | null) => V | null | Promise<V | null>,
    eventsOf: (before: Entry<V> | null, after: V) => readonly Event[] = () => [],
  ): Promise<Entry<V> | null> {
    for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
      const entry = await this.get(key);
      const value = await decide(entry);
      if (value === null) return entry;
      const events = eventsOf(entry, value);
      try {
        const revision = entry
          ? await this.update(key, value, entry.revision, events)
          : await this.create(key, value, events);
        return { key, value, revision };
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
    const message = `Too many concurrent changes in ${this.name}. Retry later.`;
    throw new ServiceError('service_unavailable', message, { retryAfterS: 1 });
  }

  /** @throws RevisionConflict when `revision` is given and is not the latest. */
  async delete(key: string, revision?: number, events: readonly Event[] = []): Promise<void> {
    await this.#guard(key, () =>
      this.#write(key, '', { operation: 'DEL', events, ...(revision === undefined ? {} : { revision }) }),
    );
  }

  /** All entries, or those whose key matches a pattern like `org_x.>`. @throws when one of them is unreadable */
  async entries(pattern = '>'): Promise<Entry<V>[]> {
    return (await this.#lastUnder(pattern)).map((entry) => this.read(entry));
  }

  /** As `entries`, without unreadable ones, which are reported once a minute. */
  async readableEntries(pattern = '>'): Promise<Entry<V>[]> {
    const found = await this.#lastUnder(pattern);
    return found.map((entry) => this.#readable(entry)).filter((entry) => entry !== null);
  }

  /** The entries that exist under these keys. Null: the entry is unreadable, which is reported once a minute. */
  async entriesOf(keys: readonly string[]): Promise<Map<string, Entry<V> | null>> {
    const found = await this.#guard('>', () => lastEntriesOf(this.#jsm, this.name, keys));
    return new Map(found.map((entry) => [entry.key, this.#readable(entry)]));
  }

  #readable(entry: LastEntry): Entry<V> | null {
    try {
      return this.read(entry);
    } catch (error) {
      const now = performance.now();
      if (now - this.#unreadableReportedAt >= UNREADABLE_REPORT_MS) {
        this.#unreadableReportedAt = now;
        const { key } = entry;
        this.#bus.logger.warn({ err: error, bucket: this.name, key }, 'an unreadable entry is ignored');
      }
      return null;
    }
  }

  /** As `entriesOf`, of the keys under a pattern, each asked for by itself: for a user that may read no other keys. */
  async entriesByKey(pattern: string): Promise<Map<string, Entry<V> | null>> {
    const keys = await this.keysWithDeleted(pattern);
    const found = await Promise.all(keys.map((key) => this.#lastEntry(key)));
    const existing = found.filter((entry) => entry !== null);
    return new Map(existing.map((entry) => [entry.key, this.#readable(entry)]));
  }

  /** The values that are kept of a key, oldest first. */
  async history(key: string): Promise<Entry<V>[]> {
    const kept = await this.#guard(key, () => keptEntries(this.#jsm, this.name, key));
    return kept.map((entry) => this.read(entry));
  }

  /** Deletes a key with its history. */
  async purge(key: string): Promise<void> {
    await this.#guard(key, () => this.#write(key, '', { operation: 'PURGE' }));
  }

  /** Only the keys, in no particular order. Their values are read, to leave out deleted keys. */
  async keys(pattern = '>'): Promise<string[]> {
    return (await this.#lastUnder(pattern)).map(({ key }) => key);
  }

  /** The keys under a pattern with those whose deletion is still marked, in no particular order. Reads no value. */
  keysWithDeleted(pattern: string): Promise<string[]> {
    return this.#guard(pattern, () => keysUnder(this.#jsm, this.name, pattern));
  }

  async #lastUnder(pattern: string): Promise<LastEntry[]> {
    const found = await this.#guard(pattern, () => lastEntries(this.#jsm, this.name, pattern));
    return found.filter(({ key }) => key !== TICK_KEY);
  }

  /** Revision of the latest change to any key. */
  async lastRevision(): Promise<number> {
    const { streamInfo } = await this.#guard('>', () => this.kv.status());
    return streamInfo.state.last_seq;
  }

  read(entry: Pick<KvEntry, 'key' | 'value' | 'revision'>): Entry<V> {
    const json: unknown = JSON.parse(Buffer.from(entry.value).toString('utf8'));
    return { key: entry.key, value: this.parse(json), revision: entry.revision };
  }

  /**
   * Whether what a watch delivered was written by a Bucket. If not, nats-server stored an answer under the key
   * (entry-headers.ts), and a reader keeps the value that it has.
   */
  isGenuine(entry: KvWatchEntry): boolean {
    // The entry holds its message, which the KV client's types hide.
    const { sm } = entry as unknown as { sm?: JsMsg };
    const genuine = isEntry(sm?.headers, this.#stream, this.#subject(entry.key));
    if (!genuine) this.#warnOfForgery(entry.key, sm?.headers);
    return genuine;
  }

  async #write(
    key: string,
    text: string,
    { revision, operation, events = [] }: WriteOptions = {},
  ): Promise<number> {
    const marker = headers();
    if (events.length > 0) marker.set(EVENTS_HEADER, JSON.stringify(events));
    if (operation) marker.set(OPERATION_HEADER, operation);
    if (operation && this.#markerTtlMs !== undefined) marker.set('Nats-TTL', `${this.#markerTtlMs}ms`);
    if (operation === 'PURGE') marker.set('Nats-Rollup', 'sub');
    const { seq } = await this.#bus.js.publish(this.#subject(key), text, {
      headers: marker,
      expect: {
        streamName: this.#stream,
        ...(revision === undefined ? {} : { lastSubjectSequence: revision }),
      },
    });
    return seq;
  }

  #subject(key: string): string {
    return `$KV.${this.name}.${key}`;
  }

  #warnOfForgery(key: string, found: MsgHdrs | undefined): void {
    if (isExpiry(found, this.#subject(key))) return;
    this.#bus.logger.warn({ bucket: this.name, key }, 'an entry that no service wrote is ignored');
  }

  /** Reports an unreachable store as `service_unavailable`, which callers may retry. */
  async #guard<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (isWrongLastSequence(cause)) throw new RevisionConflict(this.name, key, cause);
      throw new ServiceError('service_unavailable', `Store ${this.name} is unavailable. Retry later.`, {
        cause,
      });
    }
  }
}

function isWrongLastSequence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === WRONG_LAST_SEQUENCE;
}
