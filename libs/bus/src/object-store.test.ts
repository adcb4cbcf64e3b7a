// Object stores on a real nats-server: complete or absent, read at the reader's pace, bounded, and swept.
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { Objm } from '@nats-io/obj';
import { startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Bus, connectBus, ObjectGone, type ObjectStore, openObjectStore } from './index.ts';
import { createObjectStore } from './object-store.ts';

const CHUNK = 128 * 1024;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

let nats: TestServer;
let bus: Bus;
let files: ObjectStore;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger: pino({ level: 'silent' }) });
  files = await openObjectStore(bus, 'files');
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

async function* inPieces(bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function read(store: ObjectStore, id: string, range?: { start: number; end: number }): Promise<Buffer> {
  const content = await store.get(id, range);
  if (!content) throw new Error(`no ${id}`);
  return Buffer.concat(await Array.fromAsync(content));
}

async function storedMessages(store: string): Promise<number> {
  return (await bus.jsm.streams.info(`OBJ_${store}`)).state.messages;
}

describe('an object', () => {
  test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 17])(
    'of %i bytes is read back unchanged, with its length and digest',
    async (length) => {
      const content = randomBytes(length);
      const info = await files.put(`file_${length}`, inPieces(content, 40_000));
      expect(info).toMatchObject({ id: `file_${length}`, bytes: length, sha256: sha256(content) });
      expect(await files.info(`file_${length}`)).toEqual(info);
      expect((await read(files, `file_${length}`)).equals(content)).toBe(true);
    },
  );

  test('is readable by NATS’ own object store; what other programs put is ignored', async () => {
    const content = randomBytes(3 * CHUNK + 5);
    const theirs = await new Objm(bus.js).open('files');
    await files.put('file_ours', content);
    expect(await theirs.getBlob('file_ours')).toEqual(new Uint8Array(content));
    await theirs.putBlob({ name: 'file_theirs' }, content);
    expect(await files.info('file_theirs')).toBeNull();
  });

  test('returns any range, also where another object’s chunks stand between its own', async () => {
    const content = randomBytes(20 * CHUNK + 100);
    async function* interleaved() {
      for await (const piece of inPieces(content, CHUNK)) {
        await files.put('file_other', randomBytes(3 * CHUNK));
        yield piece;
      }
    }
    await files.put('file_parts', interleaved());
    for (const [start, end] of [
      [0, 1],
      [0, content.length],
      [CHUNK - 1, CHUNK + 1],
      [7 * CHUNK, 8 * CHUNK],
      [13 * CHUNK + 5, 17 * CHUNK + 9],
      [content.length - 1, content.length],
      [5, 5],
    ] as const)
      expect((await read(files, 'file_parts', { start, end })).equals(content.subarray(start, end))).toBe(
        true,
      );
  });

  test('is fetched on demand: a reader of one chunk of many is sent two', async () => {
    await files.put('file_slow', randomBytes(50 * CHUNK));
    const before = bus.nc.stats().inBytes;
    const object = await files.get('file_slow');
    await object?.next();
    await bus.nc.flush();
    expect(bus.nc.stats().inBytes - before).toBeLessThan(3 * CHUNK);
    await object?.return();
  });

  test('is read from the leader when the queried replica does not have it yet', async () => {
    const content = randomBytes(3 * CHUNK);
    await files.put('file_new', content);
    const lagging = vi.spyOn(bus.jsm.direct, 'getMessage').mockResolvedValue(null);
    expect((await read(files, 'file_new')).equals(content)).toBe(true);
    expect(lagging).toHaveBeenCalledTimes(3);
    lagging.mockRestore();
  });

  test('is replaced by a second put, and the old chunks are removed', async () => {
    const store = await createObjectStore(bus, 'replaced', 16 * 1024 * 1024, 0);
    await store.put('vid_x', randomBytes(10 * CHUNK));
    const content = randomBytes(100);
    await store.put('vid_x', content);
    expect((await read(store, 'vid_x')).equals(content)).toBe(true);
    expect(await storedMessages('replaced')).toBe(2);
  });

  test('is gone after a delete, for current readers too', async () => {
    const store = await createObjectStore(bus, 'deleted', 16 * 1024 * 1024, 0);
    await store.put('file_x', randomBytes(10 * CHUNK));
    const object = await store.get('file_x');
    await object?.next();
    await store.delete('file_x');
    await store.delete('file_x');
    await expect(Array.fromAsync(object ?? [])).rejects.toBeInstanceOf(ObjectGone);
    expect([await store.get('file_x'), await store.info('file_x')]).toEqual([null, null]);
    expect(await storedMessages('deleted')).toBe(0);
  });

  test('whose first chunk has expired is gone for a range in it, and for a reader of the whole', async () => {
    const content = randomBytes(3 * CHUNK);
    await files.put('file_aged', content);
    const streams = bus.jsm.streams;
    const { last_seq } = (await streams.info('OBJ_files')).state;
    await streams.deleteMessage('OBJ_files', last_seq - 3); // the entry follows the chunks
    await expect(read(files, 'file_aged', { start: 0, end: 10 })).rejects.toBeInstanceOf(ObjectGone);
    await expect(read(files, 'file_aged')).rejects.toBeInstanceOf(ObjectGone);
    const later = { start: CHUNK, end: CHUNK + 10 };
    expect(await read(files, 'file_aged', later)).toEqual(content.subarray(later.start, later.end));
  });

  test('is not delivered to its end when its bytes differ from the stored ones', async () => {
    const store = await createObjectStore(bus, 'spoilt', 16 * 1024 * 1024, 0);
    const { id } = await store.put('file_x', randomBytes(2 * CHUNK));
    const theirs = await new Objm(bus.js).open('spoilt');
    const info = await theirs.info(id);
    const subject = `$O.spoilt.M.${Buffer.from(id).toString('base64url')}`;
    const padding = '='.repeat((4 - ((subject.split('.').at(-1) as string).length % 4)) % 4);
    const entry = { name: id, nuid: info?.nuid, size: info?.size, chunks: info?.chunks, mtime: info?.mtime };
    await bus.js.publish(
      subject + padding,
      JSON.stringify({ ...entry, digest: `SHA-256=${'A'.repeat(43)}=` }),
      { expect: { streamName: 'OBJ_spoilt' } },
    );
    const object = await store.get(id);
    expect((await object?.next())?.value).toHaveLength(CHUNK);
    await expect(object?.next()).rejects.toThrow('digest');
  });
});

describe('a put', () => {
  test('leaves nothing when its source fails, and throws the error of the source', async () => {
    const store = await createObjectStore(bus, 'failing', 16 * 1024 * 1024, 0);
    async function* failing() {
      yield randomBytes(5 * CHUNK);
      throw new RangeError('of the source');
    }
    await expect(store.put('file_x', failing())).rejects.toThrow(RangeError);
    expect(await store.info('file_x')).toBeNull();
    expect(await storedMessages('failing')).toBe(0);
  });

  test('closes its source when the store fails before the first byte is read', async () => {
    const closed = Promise.withResolvers<void>();
    async function* source() {
      try {
        yield randomBytes(CHUNK);
      } finally {
        closed.resolve();
      }
    }
    const down = vi.spyOn(bus.jsm.streams, 'getMessage').mockRejectedValue(new Error('no leader'));
    await expect(files.put('file_x', source())).rejects.toMatchObject({ code: 'service_unavailable' });
    down.mockRestore();
    await closed.promise;
  });

  test('is refused midway above its size limit, and leaves nothing', async () => {
    const store = await createObjectStore(bus, 'limited', 16 * 1024 * 1024, 0);
    const source = inPieces(randomBytes(3 * CHUNK), 1_000);
    const outcome = store.put('file_x', source, { bytesMax: 2 * CHUNK });
    await expect(outcome).rejects.toMatchObject({ code: 'body_too_large' });
    expect(await storedMessages('limited')).toBe(0);
    await store.put('file_x', randomBytes(2 * CHUNK), { bytesMax: 2 * CHUNK });
  });

  test('fails without leaving anything when the store is full, and later puts find room', async () => {
    const store = await createObjectStore(bus, 'small', 10 * CHUNK, 0);
    const outcome = store.put('file_x', inPieces(randomBytes(12 * CHUNK), CHUNK));
    await expect(outcome).rejects.toMatchObject({ code: 'storage_full' });
    expect(await storedMessages('small')).toBe(0);
    await store.put('file_y', randomBytes(8 * CHUNK));
    expect(await store.ids()).toEqual(['file_y']);
  });

  test('survives a restart of the store between chunks, and fails with a code during one', async () => {
    await nats.kill9();
    const early = expect(files.put('file_early', randomBytes(10))).resolves.toMatchObject({ bytes: 10 });
    await nats.restart();
    await early;
    async function* cutOff() {
      yield randomBytes(CHUNK);
      await nats.kill9();
      yield randomBytes(CHUNK);
    }
    await expect(files.put('file_cut', cutOff())).rejects.toMatchObject({ code: 'service_unavailable' });
    await nats.restart();
    await expect.poll(() => bus.connected).toBe(true);
    expect(await files.info('file_cut')).toBeNull();
    expect((await files.info('file_early'))?.bytes).toBe(10);
  });
});

describe('a sweep', () => {
  test('removes the chunks of a process that died during a put, and nothing else', async () => {
    const store = await createObjectStore(bus, 'swept', 64 * 1024 * 1024, 0);
    const kept = randomBytes(4 * CHUNK);
    await store.put('file_kept', kept);
    const dead = await connectBus({ url: nats.url, service: 'dead', logger: pino({ level: 'silent' }) });
    const halfway = Promise.withResolvers<void>();
    async function* neverEnding() {
      yield randomBytes(6 * CHUNK);
      halfway.resolve();
      await new Promise(() => {});
    }
    void (await createObjectStore(dead, 'swept', 64 * 1024 * 1024, 0)).put('file_half', neverEnding());
    await halfway.promise;
    await expect.poll(() => storedMessages('swept')).toBe(5 + 6); // no chunk arrives after the sweep
    await dead.nc.close(); // the process is gone, its chunks remain
    expect(await store.sweep()).toBe(0); // the chunks are recent: their put may still be running
    expect(await store.sweep(0)).toBe(1);
    expect(await storedMessages('swept')).toBe(5);
    expect((await read(store, 'file_kept')).equals(kept)).toBe(true);
  });

  test('that cannot read all entries removes nothing', async () => {
    const store = await createObjectStore(bus, 'half-read', 64 * 1024 * 1024, 0);
    const kept = randomBytes(CHUNK);
    for (const id of ['file_a', 'file_b']) await store.put(id, kept);
    const ask = bus.jsm.direct.getLastMessagesFor.bind(bus.jsm.direct);
    vi.spyOn(bus.jsm.direct, 'getLastMessagesFor').mockImplementationOnce(async (...asked) => {
      const [first] = await Array.fromAsync(await ask(...asked));
      return Readable.from([first]) as unknown as ReturnType<typeof ask>;
    });
    expect(await store.sweep(0)).toBe(0);
    for (const id of ['file_a', 'file_b']) expect((await read(store, id)).equals(kept)).toBe(true);
    vi.restoreAllMocks();
  });
});
