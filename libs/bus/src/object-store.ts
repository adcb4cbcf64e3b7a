// Large things by id, on JetStream: written and read as streams, in the layout of NATS' own object store, so that
// `nats object ls files` shows them and `nats object get` fetches them.
//
// An object is its chunks, in order, and then its entry: it is there when the entry is, all at once. The official
// client's reader pushes without regard to its reader's pace, so chunks are fetched here, one ahead of the reader: a
// slow one holds two chunks and no consumer. Each chunk says which one it is: a range is found without reading what is
// before it. What died in the middle of a put is chunks without an entry, which `sweep` removes after a grace.
import { createHash, randomBytes } from 'node:crypto';
import { JetStreamApiError, type StoredMsg } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { Objm } from '@nats-io/obj';
import { ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import type { Bus } from './bus.ts';
import { inBatches } from './in-batches.ts';
import { OBJECT_STORES, type ObjectStoreName } from './objects.ts';

/** Bytes of each chunk but the last. */
const CHUNK_BYTES = 128 * 1024;
/** Chunks on their way whose PubAck has not come. */
const UNSTORED_CHUNKS_MAX = 4;
const PUBLISH_TIMEOUT_MS = 5_000;
/** How often a chunk is asked for: together about as long as a restart of the server takes. */
const READS_MAX = 3;
/** A put whose source brings no chunk for this long is given up ... */
export const PUT_IDLE_MS_MAX = 5 * 60_000;
/** ... and long after that nobody goes on with it: its chunks are nobody's. */
export const ORPHAN_GRACE_MS = 15 * 60_000;

const CHUNK_HEADER = 'Switchyard-Chunk';
/** JetStream's codes for "cannot be stored" (the stream's bound, a full disk) and for its own bounds. */
const NO_ROOM_CODES: readonly number[] = [10_077, 10_023, 10_047];

export interface ObjectInfo {
  readonly id: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly storedAt: Date;
}

/** Bytes from `start` up to, and not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface StoredObject {
  readonly info: ObjectInfo;
  /**
   * Its bytes, fetched as they are read. Throws ObjectGone when it is deleted meanwhile, ServiceError
   * `service_unavailable` when the store is away. A whole object's last chunk comes only if the digest is right.
   */
  readonly body: AsyncGenerator<Buffer, void, undefined>;
}

export interface PutOptions {
  /** @throws ServiceError `body_too_large` as soon as the source has brought more. */
  readonly bytesMax?: number;
}

/** It was deleted, or its time was over, while it was read. */
export class ObjectGone extends Error {
  constructor(store: string, id: string) {
    super(`${store}/${id} is no longer there`);
    this.name = 'ObjectGone';
  }
}

/** An entry as NATS' own object store has it. */
const entrySchema = z.object({
  name: z.string(),
  nuid: z.string(),
  size: z.int().nonnegative(),
  chunks: z.int().nonnegative(),
  digest: z.string(),
  mtime: z.iso.datetime(),
  deleted: z.boolean().optional(),
});
type ObjectEntry = z.infer<typeof entrySchema>;

/** Opens a store, creating it with its bounds when the installation is new. */
export async function openObjectStore(bus: Bus, name: ObjectStoreName): Promise<ObjectStore> {
  const { maxBytes, ttlMs } = OBJECT_STORES[name];
  return createObjectStore(bus, name, maxBytes, ttlMs);
}

/** As `openObjectStore`, with bounds of its own: for tests of them. */
export async function createObjectStore(
  bus: Bus,
  name: string,
  maxBytes: number,
  ttlMs: number,
): Promise<ObjectStore> {
  const bounds = { max_bytes: maxBytes, ...(ttlMs === 0 ? {} : { ttl: ttlMs * 1e6 }) };
  await new Objm(bus.js).create(name, bounds);
  return new ObjectStore(bus, name);
}

/** Every method throws ServiceError `service_unavailable` while JetStream is away. */
export class ObjectStore {
  readonly name: string;
  readonly #bus: Bus;
  readonly #stream: string;

  constructor(bus: Bus, name: string) {
    this.#bus = bus;
    this.name = name;
    this.#stream = `OBJ_${name}`;
  }

  /**
   * Stores what the source brings, under credit of the store: the source is read as fast as it is stored. The object
   * is there when this resolves, whole; if it throws, none is, or, the answer of the store being lost, all of it. One of
   * the same id is replaced.
   * @throws ServiceError `body_too_large`, `storage_full`, `service_unavailable`; and what the source throws.
   */
  async put(
    id: string,
    source: AsyncIterable<Uint8Array> | Uint8Array,
    options: PutOptions = {},
  ): Promise<ObjectInfo> {
    const nuid = randomBytes(16).toString('base64url');
    const writer = new ChunkWriter(this.#bus, this.name, this.#chunkSubject(nuid));
    try {
      const before = await this.#entry(id);
      const { bytes, chunks, sha256 } = await writer.write(chunksOf(source, options.bytesMax));
      const entry: ObjectEntry & Record<string, unknown> = {
        name: id,
        bucket: this.name,
        nuid,
        size: bytes,
        chunks,
        digest: `SHA-256=${padded(sha256)}`,
        mtime: new Date().toISOString(),
        options: { max_chunk_size: CHUNK_BYTES },
        deleted: false,
      };
      await this.#guard(() => this.#publishEntry(id, entry));
      if (before) await this.#purge(this.#chunkSubject(before.nuid)).catch(() => {}); // else the sweep does it
      return toInfo(entry);
    } catch (error) {
      await writer.settled();
      const takenBack = this.#takeBack(id, nuid).catch(() => {}); // else the sweep does it
      if (!isAway(error)) await takenBack; // of a store that is away nobody need wait to hear it again
      throw error;
    }
  }

  /** What is known of an object; null where there is none. */
  async info(id: string): Promise<ObjectInfo | null> {
    const entry = await this.#entry(id);
    return entry && toInfo(entry);
  }

  /** An object, or a part of it; null where there is none. Nothing is fetched before the body is read. */
  async get(id: string, range?: ByteRange): Promise<StoredObject | null> {
    const entry = await this.#entry(id);
    if (!entry) return null;
    const body = range ? this.#readRange(entry, range) : this.#readWhole(entry);
    return { info: toInfo(entry), body };
  }

  /** Removes an object; one that is not there is no error. It is gone at once for everybody, readers included. */
  async delete(id: string): Promise<void> {
    const entry = await this.#entry(id);
    if (!entry) return;
    await this.#guard(async () => {
      await this.#purge(this.#entrySubject(id));
      await this.#purge(this.#chunkSubject(entry.nuid));
    });
  }

  /** The ids of all objects. */
  ids(): Promise<string[]> {
    return this.#guard(async () => {
      const prefix = this.#entrySubject('');
      const subjects = await this.#subjects(`${prefix}>`);
      return subjects.map((subject) =>
        Buffer.from(subject.slice(prefix.length), 'base64url').toString('utf8'),
      );
    });
  }

  /** Removes chunks that belong to no object and were not added to for `graceMs`. Returns how many objects' worth. */
  sweep(graceMs: number = ORPHAN_GRACE_MS): Promise<number> {
    return this.#guard(async () => {
      // In this order: an entry that comes in between has chunks that are young.
      const parts = await this.#subjects(`$O.${this.name}.C.>`);
      const entries = await inBatches(await this.ids(), (id) => this.#entry(id));
      const owned = new Set(entries.map((entry) => entry && this.#chunkSubject(entry.nuid)));
      let removed = 0;
      for (const subject of parts.filter((part) => !owned.has(part))) {
        const last = await this.#bus.jsm.streams.getMessage(this.#stream, { last_by_subj: subject });
        if (!last || Date.now() - last.time.getTime() < graceMs) continue;
        await this.#purge(subject);
        removed += 1;
      }
      return removed;
    });
  }

  async *#readWhole(entry: ObjectEntry): AsyncGenerator<Buffer, void, undefined> {
    const sha256 = createHash('sha256');
    let bytes = 0;
    let index = 0;
    for await (const chunk of this.#readChunks(entry, 0)) {
      sha256.update(chunk);
      bytes += chunk.length;
      index += 1;
      if (index === entry.chunks && (bytes !== entry.size || sha256.digest('hex') !== toInfo(entry).sha256))
        throw new Error(`${this.name}/${entry.name} is not what was stored: its digest is another one`);
      yield chunk;
    }
  }

  async *#readRange(entry: ObjectEntry, { start, end }: ByteRange): AsyncGenerator<Buffer, void, undefined> {
    let at = Math.floor(start / CHUNK_BYTES) * CHUNK_BYTES;
    if (start >= end) return;
    for await (const chunk of this.#readChunks(entry, at / CHUNK_BYTES)) {
      yield chunk.subarray(Math.max(0, start - at), end - at);
      at += chunk.length;
      if (at >= end) return;
    }
  }

  /** The chunks from the given one on; the next one is on its way while one is used. */
  async *#readChunks(entry: ObjectEntry, from: number): AsyncGenerator<Buffer, void, undefined> {
    if (from >= entry.chunks) return;
    const first = await this.#findChunk(entry, from);
    let fetching = Promise.resolve(first);
    for (let index = from; index < entry.chunks; index += 1) {
      const message = await fetching;
      if (index + 1 < entry.chunks) {
        fetching = this.#fetchChunk(entry, message.seq + 1, index + 1);
        fetching.catch(() => {}); // the reader hears of it if it comes that far
      }
      const { data } = message;
      yield Buffer.from(data.buffer, data.byteOffset, data.length);
    }
  }

  /**
   * Each chunk takes a sequence number, other objects' chunks may stand in between: from chunk i at number s, chunk n is
   * never before s + n - i, so that each step comes closer and none goes too far.
   */
  async #findChunk(entry: ObjectEntry, wanted: number): Promise<StoredMsg> {
    let message = await this.#fetchChunk(entry, 0);
    for (let index = indexOf(message, 0); index < wanted; ) {
      message = await this.#fetchChunk(entry, message.seq + wanted - index);
      index = indexOf(message, index + 1);
    }
    return message;
  }

  /** The object's first chunk at this sequence number or after it. */
  async #fetchChunk(entry: ObjectEntry, seq: number, expected?: number): Promise<StoredMsg> {
    const { direct, streams } = this.#bus.jsm;
    const query = { seq: Math.max(seq, 1), next_by_subj: this.#chunkSubject(entry.nuid) };
    const message = await this.#guard(() =>
      again(
        READS_MAX,
        async () =>
          // Any replica may answer the first question, also one that has not heard of the chunk yet: the leader has.
          (await direct.getMessage(this.#stream, query)) ?? (await streams.getMessage(this.#stream, query)),
      ),
    );
    if (!message || (expected !== undefined && indexOf(message, expected) !== expected))
      throw new ObjectGone(this.name, entry.name);
    return message;
  }

  #entry(id: string): Promise<ObjectEntry | null> {
    return this.#guard(async () => {
      const query = { last_by_subj: this.#entrySubject(id) };
      const message = await again(READS_MAX, () => this.#bus.jsm.streams.getMessage(this.#stream, query));
      const entry = message && entrySchema.parse(message.json());
      return entry?.deleted ? null : entry;
    });
  }

  async #publishEntry(id: string, entry: ObjectEntry): Promise<void> {
    const rollup = headers();
    rollup.set('Nats-Rollup', 'sub');
    await this.#bus.js.publish(this.#entrySubject(id), JSON.stringify(entry), {
      headers: rollup,
      timeout: PUBLISH_TIMEOUT_MS,
    });
  }

  /** An entry whose answer was lost goes before its chunks. */
  async #takeBack(id: string, nuid: string): Promise<void> {
    const entry = await this.#entry(id);
    if (entry?.nuid === nuid) await this.#purge(this.#entrySubject(id));
    await this.#purge(this.#chunkSubject(nuid));
  }

  async #subjects(filter: string): Promise<string[]> {
    const { state } = await this.#bus.jsm.streams.info(this.#stream, { subjects_filter: filter });
    return Object.keys(state.subjects ?? {});
  }

  async #purge(subject: string): Promise<void> {
    await this.#bus.jsm.streams.purge(this.#stream, { filter: subject });
  }

  #chunkSubject(nuid: string): string {
    return `$O.${this.name}.C.${nuid}`;
  }

  #entrySubject(id: string): string {
    return `$O.${this.name}.M.${padded(Buffer.from(id))}`;
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toStoreError(this.name, error);
    }
  }
}

/** Publishes the chunks of one object, in order, a few of them ahead of their PubAcks. */
class ChunkWriter {
  readonly #bus: Bus;
  readonly #store: string;
  readonly #subject: string;
  #unstored: Promise<unknown>[] = [];

  constructor(bus: Bus, store: string, subject: string) {
    this.#bus = bus;
    this.#store = store;
    this.#subject = subject;
  }

  async write(chunks: AsyncIterable<Buffer>): Promise<{ bytes: number; chunks: number; sha256: Buffer }> {
    const sha256 = createHash('sha256');
    let bytes = 0;
    let count = 0;
    let storedAt = performance.now();
    for await (const chunk of chunks) {
      if (performance.now() - storedAt > PUT_IDLE_MS_MAX)
        throw new ServiceError('service_unavailable', 'the content came too slowly to be stored');
      storedAt = performance.now();
      sha256.update(chunk);
      bytes += chunk.length;
      this.#publish(chunk, count++);
      if (this.#unstored.length === UNSTORED_CHUNKS_MAX) await this.#unstored.shift();
    }
    await Promise.all(this.#unstored);
    return { bytes, chunks: count, sha256: sha256.digest() };
  }

  /** Resolves when nothing is on its way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#unstored);
  }

  #publish(chunk: Buffer, index: number): void {
    const which = headers();
    which.set(CHUNK_HEADER, String(index));
    const stored = this.#bus.js
      .publish(this.#subject, chunk, { headers: which, timeout: PUBLISH_TIMEOUT_MS })
      .catch((error: unknown) => {
        throw toStoreError(this.#store, error);
      });
    stored.catch(() => {}); // heard of where it is awaited
    this.#unstored.push(stored);
  }
}

/** Cuts what comes into chunks, all of one length but the last. */
async function* chunksOf(
  source: AsyncIterable<Uint8Array> | Uint8Array,
  bytesMax = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer, void, undefined> {
  const pieces = source instanceof Uint8Array ? [source] : source;
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let filled = 0;
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new ServiceError('body_too_large', `the content is over ${bytesMax} bytes`);
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + CHUNK_BYTES - filled);
      chunk.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled < CHUNK_BYTES) continue;
      yield chunk;
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}

async function again<T>(triesLeft: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (triesLeft <= 1) throw error;
    return again(triesLeft - 1, work);
  }
}

/** Chunks that another program stored do not say which one they are. */
function indexOf(message: StoredMsg, otherwise: number): number {
  const index = message.header.get(CHUNK_HEADER);
  return index === '' ? otherwise : Number(index);
}

function padded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

function toInfo({ name, size, digest, mtime }: ObjectEntry): ObjectInfo {
  const sha256 = Buffer.from(digest.slice('SHA-256='.length), 'base64url').toString('hex');
  return { id: name, bytes: size, sha256, storedAt: new Date(mtime) };
}

function isAway(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'service_unavailable';
}

/** What JetStream says, as one of our codes. */
function toStoreError(store: string, error: unknown): unknown {
  if (error instanceof ServiceError || error instanceof ObjectGone) return error;
  if (error instanceof JetStreamApiError && NO_ROOM_CODES.includes(error.code))
    return new ServiceError('storage_full', `the store of ${store} takes no more`, { cause: error });
  return new ServiceError('service_unavailable', `the store of ${store} cannot be reached`, { cause: error });
}
