// A typed KV bucket: parses values on read, compares revisions on write.
import { type JetStreamManager, jetstream } from '@nats-io/jetstream';
import { type KV, type KvEntry, Kvm } from '@nats-io/kv';
import { ServiceError } from '@switchyard/contracts';
import { BUCKETS, type BucketBounds, type BucketName, type BucketValue } from './buckets.ts';
import type { Bus } from './bus.ts';
import { keptEntries, type LastEntry, lastEntries, readAgain } from './last-entries.ts';

/** Control writes this key every second into the buckets that mirrors watch. It is not an entry. */
export const TICK_KEY = 'tick';

export interface Entry<V> {
  key: string;
  value: V;
  revision: number;
}

/** Another writer changed the key first: read it again and decide again. */
export class RevisionConflict extends Error {
  constructor(bucket: string, key: string, cause?: unknown) {
    super(`${bucket}/${key} was changed by someone else`, { cause });
    this.name = 'RevisionConflict';
  }
}

/** JetStream's code for "wrong last sequence". */
const WRONG_LAST_SEQUENCE = 10_071;

/** Timeout of one read. With its repetitions it takes about as long as a restart of the server. */
const READ_TIMEOUT_MS = 1_500;
/** Conflicts in a row before a change is given up; each conflict means that another writer succeeded. */
const CONFLICTS_MAX = 100;

/** Opens a bucket; creates it with its bounds on a new installation. */
export async function openBucket<N extends BucketName>(bus: Bus, name: N): Promise<Bucket<BucketValue<N>>> {
  const { maxBytes, ttlMs, schema, history = 1 }: BucketBounds = BUCKETS[name];
  const kv = await new Kvm(bus.js).create(name, {
    history,
    max_bytes: maxBytes,
    ...(ttlMs === 0 ? {} : { ttl: ttlMs }),
  });
  const impatient = jetstream(bus.nc, { timeout: READ_TIMEOUT_MS });
  const reader = await new Kvm(impatient).open(name, { bindOnly: true });
  const jsm = await impatient.jetstreamManager(false);
  const parse = (json: unknown) => schema.parse(json) as BucketValue<N>;
  return new Bucket<BucketValue<N>>({ name, kv, reader, jsm, parse });
}

interface BucketParts<V> {
  readonly name: string;
  readonly kv: KV;
  /** The same bucket and server, with a shorter timeout. */
  readonly reader: KV;
  readonly jsm: JetStreamManager;
  readonly parse: (json: unknown) => V;
}

/** Every method throws ServiceError `service_unavailable` while JetStream is away; the write may have happened. */
export class Bucket<V> {
  readonly name: string;
  readonly kv: KV;
  readonly parse: (json: unknown) => V;
  readonly #reader: KV;
  readonly #jsm: JetStreamManager;

  constructor({ name, kv, reader, jsm, parse }: BucketParts<V>) {
    this.name = name;
    this.kv = kv;
    this.parse = parse;
    this.#reader = reader;
    this.#jsm = jsm;
  }

  async get(key: string): Promise<Entry<V> | null> {
    const entry = await this.#guard(key, () => readAgain(() => this.#reader.get(key)));
    return entry === null || entry.operation !== 'PUT' ? null : this.read(entry);
  }

  /** @throws RevisionConflict when the key exists. */
  create(key: string, value: V): Promise<number> {
    return this.#guard(key, () => this.kv.create(key, JSON.stringify(value)));
  }

  /** @throws RevisionConflict when the key has another revision. */
  update(key: string, value: V, revision: number): Promise<number> {
    return this.#guard(key, () => this.kv.update(key, JSON.stringify(value), revision));
  }

  put(key: string, value: V): Promise<number> {
    return this.#guard(key, () => this.kv.put(key, JSON.stringify(value)));
  }

  /**
   * Changes an entry by compare-and-set. `decide` gets the current entry, runs again after a conflict with another
   * writer, and returns the new value, or null to change nothing.
   * @returns the entry as it is then; null: it does not exist
   * @throws errors of `decide`; ServiceError `service_unavailable`, also after CONFLICTS_MAX conflicts
   */
  async change(
    key: string,
    decide: (entry: Entry<V> | null) => V | null | Promise<V | null>,
  ): Promise<Entry<V> | null> {
    for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
      const entry = await this.get(key);
      const value = await decide(entry);
      if (value === null) return entry;
      try {
        const revision = entry
          ? await this.update(key, value, entry.revision)
          : await this.create(key, value);
        return { key, value, revision };
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
    const message = `Too many concurrent changes in ${this.name}. Retry later.`;
    throw new ServiceError('service_unavailable', message, { retryAfterS: 1 });
  }

  /** @throws RevisionConflict when `revision` is given and is not the latest. */
  async delete(key: string, revision?: number): Promise<void> {
    await this.#guard(key, () =>
      this.kv.delete(key, revision === undefined ? {} : { previousSeq: revision }),
    );
  }

  /** All entries, or those whose key matches a pattern like `org_x.>`. */
  async entries(pattern = '>'): Promise<Entry<V>[]> {
    return (await this.#last(pattern)).map((entry) => this.read(entry));
  }

  /** The values that are kept of a key, oldest first. */
  async history(key: string): Promise<Entry<V>[]> {
    const kept = await this.#guard(key, () => keptEntries(this.#jsm, this.name, key));
    return kept.map((entry) => this.read(entry));
  }

  /** Deletes a key with its history. */
  async purge(key: string): Promise<void> {
    await this.#guard(key, () => this.kv.purge(key));
  }

  /** Only the keys, in no particular order. */
  async keys(pattern = '>'): Promise<string[]> {
    return (await this.#last(pattern)).map(({ key }) => key);
  }

  async #last(pattern: string): Promise<LastEntry[]> {
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
