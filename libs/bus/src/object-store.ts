// Large objects by id on JetStream, written and read as streams. The layout is that of NATS' own object store, so
// `nats object ls files` lists them and `nats object get` fetches them. Other programs' objects are not read: they
// lack the header of an entry.
//
// An object is its chunks, in order, followed by its entry. It exists from the moment its entry exists. The official
// client's reader pushes regardless of its reader's pace, so chunks are fetched here, one ahead of the reader: a slow
// reader holds two chunks and no consumer. Each chunk carries its index, so a range is found without reading the bytes
// before it. A put that died leaves chunks without an entry, which `sweep` removes after a grace period.
import { createHash, randomBytes } from 'node:crypto';
import type { StoredMsg } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { Objm } from '@nats-io/obj';
import type { ContentPart } from '@switchyard/contracts';
import { z } from 'zod';
import type { Bus } from './bus.ts';
import { isEntry } from './entry-headers.ts';
import { lastMessages, readAgain } from './last-entries.ts';
import { CHUNK_BYTES, CHUNK_HEADER, ChunkWriter, PUBLISH_TIMEOUT_MS } from './object-chunks.ts';
import { isUnavailable, ObjectGone, toStoreError } from './object-errors.ts';
import { OBJECT_STORES, type ObjectStoreName } from './objects.ts';

/** Chunks without an entry are orphans after this time, long after a put that stalls is aborted. */
export const ORPHAN_GRACE_MS = 15 * 60_000;

interface ObjectInfo {
  readonly id: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly storedAt: Date;
}

/**
 * An object's bytes, fetched on demand. Throws ObjectGone when the object is deleted during the read, ServiceError
 * `service_unavailable` when the store is down. The last chunk of a whole object is delivered only if the digest
 * matches.
 */
type StoredBytes = AsyncGenerator<Buffer, void, undefined>;

interface PutOptions {
  /** @throws ServiceError `body_too_large` as soon as the source yields more. */
  readonly bytesMax?: number;
}

/** An entry in the format of NATS' own object store. */
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

/** Opens a store; creates it with its bounds on a new installation. */
export async function openObjectStore(bus: Bus, name: ObjectStoreName): Promise<ObjectStore> {
  const { maxBytes, ttlMs } = OBJECT_STORES[name];
  return createObjectStore(bus, name, maxBytes, ttlMs);
}

/** Like `openObjectStore` with explicit bounds, for tests. */
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

/** Every method throws ServiceError `service_unavailable` while JetStream is down. */
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
   * Stores the bytes of the source, which is read as fast as they are stored. The object exists completely when the
   * promise resolves. If it throws, no object exists, or the complete object if the store's answer was lost. An object
   * of the same id is replaced. The source is closed in any case.
   * @throws ServiceError `body_too_large`, `storage_full`, `service_unavailable`; and any error of the source.
   */
  async put(
    id: string,
    source: AsyncIterable<Uint8Array> | Uint8Array,
    options: PutOptions = {},
  ): Promise<ObjectInfo> {
    const nuid = randomBytes(16).toString('base64url');
    const writer = new ChunkWriter(this.#bus, this.name, this.#chunkSubject(nuid));
    try {
      const before = await this.#entry(id).catch((error: unknown) => {
        closeUnread(source).catch(() => {}); // not awaited: its first piece may take long
        throw error;
      });
      const { bytes, chunks, sha256 } = await writer.write(source, options.bytesMax);
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
      if (before) await this.#purge(this.#chunkSubject(before.nuid)).catch(() => {}); // on failure the sweep does it
      return toInfo(entry);
    } catch (error) {
      await writer.settled();
      const takenBack = this.#takeBack(id, nuid).catch(() => {}); // on failure the sweep does it
      if (!isUnavailable(error)) await takenBack; // do not wait for a second failure of an unavailable store
      throw error;
    }
  }

  /** Metadata of an object; null when it does not exist. */
  async info(id: string): Promise<ObjectInfo | null> {
    const entry = await this.#entry(id);
    return entry && toInfo(entry);
  }

  /** An object or a range of it; null when it does not exist. Bytes are fetched only when they are read. */
  async get(id: string, range?: ContentPart): Promise<StoredBytes | null> {
    const entry = await this.#entry(id);
    if (!entry) return null;
    return range ? this.#readRange(entry, range) : this.#readWhole(entry);
  }

  /** Removes an object, at once for all readers. Removing a missing object is not an error. */
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

  /** Removes chunks of objects without an entry that did not grow for `graceMs`. Returns the number of such objects. */
  sweep(graceMs: number = ORPHAN_GRACE_MS): Promise<number> {
    return this.#guard(async () => {
      // In this order: an entry that appears in between belongs to recent chunks.
      const parts = await this.#subjects(`$O.${this.name}.C.>`);
      const subjects = await this.#subjects(`${this.#entrySubject('')}>`);
      const entries = await lastMessages(this.#bus.jsm, this.#stream, subjects);
      if (entries.length < subjects.length) return 0; // one was deleted meanwhile, or is not read: the next sweep
      const owned = new Set(
        entries.map((message) => this.#read(message)).map((entry) => entry && this.#chunkSubject(entry.nuid)),
      );
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

  async *#readWhole(entry: ObjectEntry): StoredBytes {
    const sha256 = createHash('sha256');
    let bytes = 0;
    let index = 0;
    for await (const chunk of this.#readChunks(entry, 0)) {
      sha256.update(chunk);
      bytes += chunk.length;
      index += 1;
      if (index === entry.chunks && (bytes !== entry.size || sha256.digest('hex') !== toInfo(entry).sha256))
        throw new Error(`${this.name}/${entry.name} is not what was stored: its digest does not match`);
      yield chunk;
    }
  }

  async *#readRange(entry: ObjectEntry, { start, end }: ContentPart): StoredBytes {
    let at = Math.floor(start / CHUNK_BYTES) * CHUNK_BYTES;
    if (start >= end) return;
    for await (const chunk of this.#readChunks(entry, at / CHUNK_BYTES)) {
      yield chunk.subarray(Math.max(0, start - at), end - at);
      at += chunk.length;
      if (at >= end) return;
    }
  }

  /** The chunks from the given one on; the next chunk is fetched while one is used. */
  async *#readChunks(entry: ObjectEntry, from: number): AsyncGenerator<Buffer, void, undefined> {
    if (from >= entry.chunks) return;
    const first = await this.#findChunk(entry, from);
    let fetching = Promise.resolve(first);
    for (let index = from; index < entry.chunks; index += 1) {
      const message = await fetching;
      if (index + 1 < entry.chunks) {
        fetching = this.#fetchChunk(entry, message.seq + 1, index + 1);
        fetching.catch(() => {}); // the reader gets the error when it reaches this chunk
      }
      const { data } = message;
      yield Buffer.from(data.buffer, data.byteOffset, data.length);
    }
  }

  /**
   * Each chunk takes a sequence number, and other objects' chunks may lie in between. From chunk i at number s,
   * chunk n is at s + n - i or later, so each step comes closer and none overshoots.
   */
  async #findChunk(entry: ObjectEntry, wanted: number): Promise<StoredMsg> {
    let message = await this.#fetchChunk(entry, 0);
    for (let index = indexOf(message); index < wanted; ) {
      message = await this.#fetchChunk(entry, message.seq + wanted - index);
      index = indexOf(message);
    }
    // Chunks expire one by one, the first one first.
    if (indexOf(message) !== wanted) throw new ObjectGone(this.name, entry.name);
    return message;
  }

  /** The object's first chunk at this sequence number or after it. */
  async #fetchChunk(entry: ObjectEntry, seq: number, expected?: number): Promise<StoredMsg> {
    const { direct, streams } = this.#bus.jsm;
    const query = { seq: Math.max(seq, 1), next_by_subj: this.#chunkSubject(entry.nuid) };
    const message = await this.#guard(() =>
      readAgain(
        async () =>
          // The first request may reach a replica that does not have the chunk yet; the leader has it.
          (await direct.getMessage(this.#stream, query)) ?? (await streams.getMessage(this.#stream, query)),
      ),
    );
    if (!message || (expected !== undefined && indexOf(message) !== expected))
      throw new ObjectGone(this.name, entry.name);
    return message;
  }

  #entry(id: string): Promise<ObjectEntry | null> {
    return this.#guard(async () => {
      const query = { last_by_subj: this.#entrySubject(id) };
      const message = await readAgain(() => this.#bus.jsm.streams.getMessage(this.#stream, query));
      return message && this.#read(message);
    });
  }

  #read(message: StoredMsg): ObjectEntry | null {
    if (!isEntry(message.header, this.#stream, message.subject)) return null;
    const entry = entrySchema.parse(message.json());
    return entry.deleted ? null : entry;
  }

  async #publishEntry(id: string, entry: ObjectEntry): Promise<void> {
    const rollup = headers();
    rollup.set('Nats-Rollup', 'sub');
    await this.#bus.js.publish(this.#entrySubject(id), JSON.stringify(entry), {
      headers: rollup,
      expect: { streamName: this.#stream },
      timeout: PUBLISH_TIMEOUT_MS,
    });
  }

  /** Deletes the entry, which may exist although its answer was lost, and then the chunks. */
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

/** Reads the first piece, because a generator that has not begun skips its `finally`. */
async function closeUnread(source: AsyncIterable<Uint8Array> | Uint8Array): Promise<void> {
  for await (const _ of source) return;
}

function indexOf(message: StoredMsg): number {
  return Number(message.header.get(CHUNK_HEADER));
}

function padded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

function toInfo({ name, size, digest, mtime }: ObjectEntry): ObjectInfo {
  const sha256 = Buffer.from(digest.slice('SHA-256='.length), 'base64url').toString('hex');
  return { id: name, bytes: size, sha256, storedAt: new Date(mtime) };
}
