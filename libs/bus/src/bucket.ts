// A typed KV bucket: values parsed on the way out, revisions for compare-and-set on the way in.
import { type JetStreamManager, jetstream } from '@nats-io/jetstream';
import { type KV, type KvEntry, Kvm } from '@nats-io/kv';
import { ServiceError } from '@switchyard/contracts';
import { BUCKETS, type BucketName, type BucketValue } from './buckets.ts';
import type { Bus } from './bus.ts';
import { type LastEntry, lastEntries } from './last-entries.ts';

/** The key that control writes each second into a bucket that is watched for safety's sake; it is no entry. */
export const TICK_KEY = 'tick';

export interface Entry<V> {
  key: string;
  value: V;
  revision: number;
}

/** Somebody else wrote the key first: read it again and decide anew. */
export class RevisionConflict extends Error {
  constructor(bucket: string, key: string, cause?: unknown) {
    super(`${bucket}/${key} was changed by someone else`, { cause });
    this.name = 'RevisionConflict';
  }
}

/** JetStream's code for "the last sequence is another one". */
const WRONG_LAST_SEQUENCE = 10_071;

/** How long one read may take, and how often it is tried: together about as long as a restart of the server takes. */
const READ_TIMEOUT_MS = 1_500;
const READS_MAX = 3;

/** Opens a bucket, creating it with its bounds when the installation is new. */
export async function openBucket<N extends BucketName>(bus: Bus, name: N): Promise<Bucket<BucketValue<N>>> {
  const { maxBytes, ttlMs, schema } = BUCKETS[name];
  const kv = await new Kvm(bus.js).create(name, {
    history: 1,
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
  /** The same bucket and its server, with less patience. */
  readonly reader: KV;
  readonly jsm: JetStreamManager;
  readonly parse: (json: unknown) => V;
}

/** Every method throws ServiceError `service_unavailable` while JetStream is away; a write may have happened then. */
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
    const entry = await this.#guard(key, () => this.#readAgain(key, READS_MAX));
    return entry === null || entry.operation !== 'PUT' ? null : this.read(entry);
  }

  /** A question that was under way when the server went gets no answer: it is asked again, which harms nobody. */
  async #readAgain(key: string, triesLeft: number): Promise<KvEntry | null> {
    try {
      return await this.#reader.get(key);
    } catch (error) {
      if (triesLeft <= 1) throw error;
      return this.#readAgain(key, triesLeft - 1);
    }
  }

  /** @throws RevisionConflict when the key is there already. */
  create(key: string, value: V): Promise<number> {
    return this.#guard(key, () => this.kv.create(key, JSON.stringify(value)));
  }

  /** @throws RevisionConflict when its revision is no longer this one. */
  update(key: string, value: V, revision: number): Promise<number> {
    return this.#guard(key, () => this.kv.update(key, JSON.stringify(value), revision));
  }

  put(key: string, value: V): Promise<number> {
    return this.#guard(key, () => this.kv.put(key, JSON.stringify(value)));
  }

  /** @throws RevisionConflict when a revision is given and is no longer the last. */
  async delete(key: string, revision?: number): Promise<void> {
    await this.#guard(key, () =>
      this.kv.delete(key, revision === undefined ? {} : { previousSeq: revision }),
    );
  }

  /** All entries, or those whose key matches a pattern like `org_x.>`. */
  async entries(pattern = '>'): Promise<Entry<V>[]> {
    return (await this.#last(pattern)).map((entry) => this.read(entry));
  }

  /** The keys alone, in no order. */
  async keys(pattern = '>'): Promise<string[]> {
    return (await this.#last(pattern)).map(({ key }) => key);
  }

  async #last(pattern: string): Promise<LastEntry[]> {
    const found = await this.#guard(pattern, () => lastEntries(this.#jsm, this.name, pattern));
    return found.filter(({ key }) => key !== TICK_KEY);
  }

  /** Of the change that came last, whatever its key. */
  async lastRevision(): Promise<number> {
    const { streamInfo } = await this.#guard('>', () => this.kv.status());
    return streamInfo.state.last_seq;
  }

  read(entry: Pick<KvEntry, 'key' | 'value' | 'revision'>): Entry<V> {
    const json: unknown = JSON.parse(Buffer.from(entry.value).toString('utf8'));
    return { key: entry.key, value: this.parse(json), revision: entry.revision };
  }

  /** A store that is away is no fault of ours to be masked: whoever asked may come back. */
  async #guard<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (isWrongLastSequence(cause)) throw new RevisionConflict(this.name, key, cause);
      throw new ServiceError('service_unavailable', `the store of ${this.name} cannot be reached`, { cause });
    }
  }
}

function isWrongLastSequence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === WRONG_LAST_SEQUENCE;
}
