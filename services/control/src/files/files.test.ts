// Stored files on a real nats-server: complete or absent, counted exactly, and repaired after a crash at any step.
import { createHash, randomBytes } from 'node:crypto';
import {
  type Bus,
  connectBus,
  openBucket,
  openObjectStore,
  openReply,
  request,
  serve,
} from '@switchyard/bus';
import {
  encodeFileStoreTrailer,
  FILE_BYTES_MAX,
  FILE_CONTENT_SUBJECT,
  FILE_STORE_SUBJECT,
  type FileObject,
  type FileStoreTrailer,
  fileKey,
  fileObject,
  ServiceError,
} from '@switchyard/contracts';
import { systemClock } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { fileHandlers, sendFile } from '../operations/files.ts';
import { storeFile } from '../operations/files-create.ts';
import { newFileId } from './file-id.ts';
import type { FileOperations } from './file-operations.ts';
import { Quota } from './quota.ts';
import { sweepFiles } from './sweeper.ts';

const logger = pino({ level: 'silent' });
const QUOTA_BYTES = 1_000_000;
const QUOTA_FILES = 20;
const WHO = { key_id: 'key_x', request_id: 'req_x' };

let nats: TestServer;
let caller: Bus;
let control: { bus: Bus; deps: FileOperations };
/** A new org for each test. */
let org: string;
let tests = 0;

async function startControl(): Promise<{ bus: Bus; deps: FileOperations }> {
  const bus = await connectBus({ url: nats.url, service: 'control', logger });
  const deps: FileOperations = {
    files: await openBucket(bus, 'files'),
    contents: await openObjectStore(bus, 'files'),
    quota: new Quota({
      usage: await openBucket(bus, 'file-usage'),
      bytesMax: QUOTA_BYTES,
      filesMax: QUOTA_FILES,
      clock: systemClock,
    }),
    clock: systemClock,
    logger,
  };
  const service = await serve(bus, { name: 'control', version: '0.0.1', description: 'of a test' });
  service.stream(FILE_STORE_SUBJECT, storeFile(deps));
  service.stream(FILE_CONTENT_SUBJECT, sendFile(deps));
  service.handleAll(fileHandlers(deps));
  await bus.nc.flush();
  return { bus, deps };
}

type Content = AsyncIterable<Uint8Array> | Uint8Array;

const TRAILER: FileStoreTrailer = { purpose: 'user_data', expires_after_seconds: null };

async function* withTrailer(content: Content, trailer: FileStoreTrailer) {
  if (content instanceof Uint8Array) yield content;
  else yield* content;
  for (const byte of encodeFileStoreTrailer(trailer)) yield Uint8Array.of(byte); // however it is cut into pieces
}

async function upload(
  content: Content,
  bytesMin = 0,
  { bus = caller, trailer = TRAILER }: { bus?: Bus; trailer?: FileStoreTrailer } = {},
): Promise<FileObject> {
  const head = { ...WHO, org, filename: 'a.bin', media_type: 'text/plain', bytes_min: bytesMin };
  const reply = await openReply(bus, {
    subject: FILE_STORE_SUBJECT,
    head,
    body: withTrailer(content, trailer),
  });
  return fileObject.parse(await reply.end);
}

function download(id: string, range?: { start: number; end: number }) {
  const head = { ...WHO, org, id, range };
  return openReply(caller, { subject: FILE_CONTENT_SUBJECT, head });
}

const list = (query = {}) => request(caller, 'files.list', { org, key_id: 'key_x', query });
const get = (id: string, of = org) => request(caller, 'files.get', { org: of, key_id: 'key_x', id });
const remove = (id: string) => request(caller, 'files.delete', { org, key_id: 'key_x', id });
const usage = () => control.deps.quota.usage(org);
/** The org's storage by the list. */
const stored = (bytes: number, files: number) => ({
  ...{ bytes, bytes_max: QUOTA_BYTES },
  ...{ files, files_max: QUOTA_FILES },
});
const settled = (bytes: number, files = bytes > 0 ? 1 : 0) => ({ bytes, files, arriving: {}, leaving: {} });

beforeAll(async () => {
  nats = await startNats();
  caller = await connectBus({ url: nats.url, service: 'caller', logger });
});
beforeEach(async () => {
  control = await startControl();
  org = `org_${++tests}`;
});
afterEach(() => control.bus.close());
afterAll(async () => {
  await caller.close();
  await nats.stop();
});

describe('a file', () => {
  test('is stored, shown, listed, sent whole and in part, and deleted, with an exact quota throughout', async () => {
    const content = randomBytes(300_000);
    const file = await upload(content, 250_000);
    const sha256 = createHash('sha256').update(content).digest('hex');
    expect(file).toMatchObject({
      object: 'file',
      filename: 'a.bin',
      media_type: 'text/plain',
      bytes: 300_000,
      sha256,
    });
    expect(await get(file.id)).toEqual(file);
    expect(await list()).toMatchObject({ data: [file], storage: stored(300_000, 1) });
    expect(await list({ purpose: 'vision' })).toMatchObject({ data: [], storage: stored(300_000, 1) });
    const reply = await download(file.id);
    expect(reply.head).toEqual(file);
    expect(Buffer.concat(await Array.fromAsync(reply.body)).equals(content)).toBe(true);
    const part = await download(file.id, { start: 130_000, end: 140_000 });
    expect(Buffer.concat(await Array.fromAsync(part.body)).equals(content.subarray(130_000, 140_000))).toBe(
      true,
    );
    expect(await usage()).toEqual(settled(300_000));
    expect(await remove(file.id)).toEqual({ id: file.id, object: 'file', deleted: true });
    await expect(remove(file.id)).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(get(file.id)).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(download(file.id)).rejects.toMatchObject({ code: 'file_not_found' });
    expect(await list()).toMatchObject({ data: [], storage: stored(0, 0) });
    expect(await usage()).toEqual(settled(0));
    expect(await control.deps.contents.info(fileKey(org, file.id))).toBeNull();
  });

  test('may be empty', async () => {
    const file = await upload(Buffer.alloc(0));
    expect(file.bytes).toBe(0);
    expect(await Array.fromAsync((await download(file.id)).body)).toEqual([]);
  });

  test.each(['file_x', 'a.b', '>', '*', ''])('with the invalid id %j is not found', async (id) => {
    await expect(get(id)).rejects.toMatchObject({ code: 'file_not_found' });
  });

  test('of another org is reported like one that never existed', async () => {
    const file = await upload(Buffer.from('mine'));
    await expect(get(file.id, 'org_other')).rejects.toMatchObject({ code: 'file_not_found' });
  });

  test('is listed page by page, newest or oldest first, by cursor or by OpenAI’s parameters', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await upload(Buffer.from(`file ${n}`))).id);
    ids.sort();
    const oldest = await list({ order: 'asc', limit: 2 });
    expect(oldest.data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(oldest).toMatchObject({ has_more: true, next_cursor: ids[1] });
    const rest = await list({ order: 'asc', after: oldest.next_cursor as string });
    expect(rest.data.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    const newest = await list({ limit: 4 });
    expect(newest.data.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 4));
    const last = await list({ cursor: newest.next_cursor as string });
    expect(last.data.map(({ id }) => id)).toEqual([ids[0]]);
  });

  test('has a purpose, by which lists are filtered', async () => {
    const mine = await upload(Buffer.from('mine'), 0, { trailer: { ...TRAILER, purpose: 'vision' } });
    await upload(Buffer.from('other'));
    expect(mine.purpose).toBe('vision');
    const got = vi.spyOn(control.deps.files, 'get');
    expect(await list({ purpose: 'vision', limit: 1 })).toMatchObject({ data: [mine], has_more: false });
    expect(got, 'no record is read by itself').not.toHaveBeenCalled();
    expect((await list({ purpose: 'batch' })).data).toEqual([]);
  });

  test('that expires is gone from then on, and the next sweep releases its quota', async () => {
    const file = await upload(Buffer.alloc(100), 0, {
      trailer: { ...TRAILER, expires_after_seconds: 3_600 },
    });
    const kept = await upload(Buffer.alloc(10));
    expect(file.expires_at).toBe(file.created_at + 3_600);
    expect(Date.parse(file.expires_at_iso ?? '') - Date.parse(file.created_at_iso)).toBe(3_600_000);
    await sweepFiles(control.deps, 0);
    expect(await get(file.id)).toEqual(file);
    const { files } = control.deps;
    const entry = await files.get(fileKey(org, file.id));
    if (!entry) throw new Error('it was stored');
    const expires_at = new Date(Date.now() - 1).toISOString();
    await files.update(entry.key, { ...entry.value, expires_at }, entry.revision);
    await expect(get(file.id)).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(download(file.id)).rejects.toMatchObject({ code: 'file_not_found' });
    expect((await list()).data).toEqual([kept]);
    await sweepFiles(control.deps, 0);
    expect(await usage()).toEqual(settled(10));
    expect(await files.get(entry.key)).toBeNull();
  });

  test('that is deleted during a download ends the download with an error, not as a short file', async () => {
    const file = await upload(randomBytes(900_000));
    const reply = await download(file.id);
    await reply.body.next();
    await remove(file.id);
    await expect(Array.fromAsync(reply.body)).rejects.toBeInstanceOf(ServiceError);
  });
});

describe('the quota', () => {
  test('is exact for concurrent uploads at two instances', async () => {
    const other = await startControl();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 15 }, () => upload(randomBytes(100_000), 100_000)),
    );
    const refused = outcomes.filter((one) => one.status === 'rejected');
    expect(outcomes.length - refused.length).toBe(10);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'storage_quota_exceeded' });
    expect(await usage()).toEqual(settled(QUOTA_BYTES, 10));
    await other.bus.close();
  });

  test('accepts a file of unknown length up to the last byte, and not one more', async () => {
    await upload(randomBytes(400_000));
    const over = upload(randomBytes(600_001));
    await expect(over).rejects.toMatchObject({ code: 'storage_quota_exceeded' });
    expect(await usage()).toEqual(settled(400_000));
    await upload(randomBytes(600_000));
    await expect(upload(Buffer.from('a'))).rejects.toMatchObject({ code: 'storage_quota_exceeded' });
    expect(await usage()).toEqual(settled(QUOTA_BYTES, 2));
  });

  test('limits files, empty ones too, and admits one per deleted one', async () => {
    const [first] = await Promise.all(Array.from({ length: QUOTA_FILES }, () => upload(Buffer.alloc(0))));
    await expect(upload(Buffer.alloc(0))).rejects.toMatchObject({ code: 'storage_quota_exceeded' });
    await remove(first?.id ?? '');
    await upload(Buffer.alloc(0));
    expect(await usage()).toEqual(settled(0, QUOTA_FILES));
  });

  test('is released once by concurrent deletions', async () => {
    const [one, two] = [await upload(randomBytes(1_000)), await upload(randomBytes(500))];
    await Promise.allSettled([remove(one.id), remove(one.id), remove(one.id), remove(one.id)]);
    expect(await usage()).toEqual(settled(500));
    expect((await list()).data).toEqual([two]);
  });

  test('is not consulted for a file over the size limit', async () => {
    const outcome = upload(Buffer.alloc(1), FILE_BYTES_MAX + 1);
    await expect(outcome).rejects.toMatchObject({ code: 'body_too_large', param: 'file' });
    expect(await usage()).toEqual(settled(0));
  });
});

describe('an upload that does not complete', () => {
  /** Complete chunks of half an upload, 128 KiB each; the remainder waits for more bytes. */
  const WHOLE_CHUNKS = 3;

  async function* halfway(reached: () => void, then: () => Promise<void>) {
    yield randomBytes(500_000);
    reached();
    await then();
  }

  test('because its source fails leaves nothing and releases the quota', async () => {
    const failing = halfway(
      () => {},
      async () => {
        throw new ServiceError('invalid_multipart', 'cut short');
      },
    );
    await expect(upload(failing, 400_000)).rejects.toMatchObject({ code: 'invalid_multipart' });
    await expect.poll(usage).toEqual(settled(0));
    expect((await list()).data).toEqual([]);
    expect(await control.deps.contents.ids()).not.toContainEqual(expect.stringContaining(org));
  });

  test('because the edge died leaves nothing and releases the quota', async () => {
    const edge = await connectBus({ url: nats.url, service: 'edge', logger });
    const reached = Promise.withResolvers<void>();
    const source = halfway(reached.resolve, () => new Promise(() => {}));
    upload(source, 400_000, { bus: edge }).catch(() => {});
    await reached.promise;
    await expect.poll(async () => (await list()).storage).toEqual(stored(400_000, 1));
    await edge.nc.close();
    await expect.poll(usage).toEqual(settled(0));
    expect((await list()).data).toEqual([]);
  });

  test('because control died shows nothing, and the next sweep after the grace period releases the quota', async () => {
    const reached = Promise.withResolvers<void>();
    const source = halfway(reached.resolve, () => new Promise(() => {}));
    const stored = async () => (await caller.jsm.streams.info('OBJ_files')).state.messages;
    const before = await stored();
    upload(source, 400_000).catch(() => {});
    await reached.promise;
    await expect.poll(async () => Object.keys((await usage()).arriving).length).toBe(1);
    await expect.poll(stored).toBe(before + WHOLE_CHUNKS); // no chunk arrives after the sweep
    await control.bus.nc.close();
    control = await startControl();
    expect((await list()).data).toEqual([]);
    await sweepFiles(control.deps);
    expect(Object.keys((await usage()).arriving)).toHaveLength(1); // the upload may still be running
    await sweepFiles(control.deps, 0);
    expect(await usage()).toEqual(settled(0));
    expect(await control.deps.contents.sweep(0)).toBe(0); // its chunks are already gone
  });
});

describe('a control that died between two steps', () => {
  const record = (id: string, bytes: number) => ({
    id,
    org,
    filename: 'a',
    purpose: 'user_data' as const,
    media_type: 'text/plain',
    bytes,
    sha256: 'a'.repeat(64),
    created_at: new Date().toISOString(),
  });

  test('after the record was created: the file exists and counts once', async () => {
    const { deps } = control;
    const id = newFileId(Date.now());
    await deps.quota.begin(org, id, 700);
    await deps.contents.put(fileKey(org, id), Buffer.alloc(700));
    await deps.files.create(fileKey(org, id), record(id, 700));
    await sweepFiles(deps, 0);
    await sweepFiles(deps, 0);
    expect(await usage()).toEqual(settled(700));
    expect((await list()).data).toHaveLength(1);
    await remove(id);
    expect(await usage()).toEqual(settled(0));
  });

  test('before the record was created: the content is removed and not counted', async () => {
    const { deps } = control;
    const id = newFileId(Date.now());
    await deps.quota.begin(org, id, 700);
    await deps.contents.put(fileKey(org, id), Buffer.alloc(700));
    await sweepFiles(deps, 0);
    expect(await usage()).toEqual(settled(0));
    expect(await deps.contents.info(fileKey(org, id))).toBeNull();
  });

  test('and left content without a record: the content is removed', async () => {
    const { deps } = control;
    const key = fileKey(org, newFileId(Date.now()));
    await deps.contents.put(key, Buffer.alloc(700));
    await sweepFiles(deps);
    expect(await deps.contents.info(key)).not.toBeNull();
    await sweepFiles(deps, 0);
    expect(await deps.contents.info(key)).toBeNull();
  });

  test('at any step of a deletion: the owner no longer sees the file, and the quota is released once', async () => {
    const { deps } = control;
    const files = await Promise.all(Array.from({ length: 4 }, () => upload(Buffer.alloc(100))));
    const kept = await upload(Buffer.alloc(10));
    for (const [steps, { id }] of files.entries()) {
      const entry = await deps.files.get(fileKey(org, id));
      if (!entry) throw new Error('it was stored');
      const deleting_at = new Date().toISOString();
      await deps.files.update(entry.key, { ...entry.value, deleting_at }, entry.revision);
      if (steps > 0) await deps.quota.leaving(org, id, 100);
      if (steps > 1) await deps.contents.delete(entry.key);
      if (steps > 2) await deps.files.delete(entry.key);
    }
    expect((await list()).data).toEqual([kept]);
    await sweepFiles(deps, 0);
    await sweepFiles(deps, 0);
    expect(await usage()).toEqual(settled(10));
    expect((await list()).data).toEqual([kept]);
  });

  test('two concurrent sweeps release no quota twice', async () => {
    const other = await startControl();
    const files = await Promise.all(Array.from({ length: 3 }, () => upload(Buffer.alloc(100))));
    for (const { id } of files) {
      const entry = await control.deps.files.get(fileKey(org, id));
      if (!entry) throw new Error('it was stored');
      const deleting_at = new Date(Date.now() - 3_600_000).toISOString();
      await control.deps.files.update(entry.key, { ...entry.value, deleting_at }, entry.revision);
    }
    await upload(Buffer.alloc(1_000));
    await Promise.all([sweepFiles(control.deps), sweepFiles(other.deps), sweepFiles(control.deps)]);
    expect(await usage()).toEqual(settled(1_000));
    await other.bus.close();
  });
});
