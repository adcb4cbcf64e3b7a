// Uploads and downloads with a real edge and a fake control, including clients that misbehave.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type IncomingCall, serve } from '@switchyard/bus';
import {
  ALL_PERMISSIONS,
  FILE_CONTENT_SUBJECT,
  FILE_STORE_SUBJECT,
  FILE_STORE_TRAILER_BYTES,
  type FileObject,
  type FileStoreHead,
  type FileStoreTrailer,
  fileStoreTrailer,
} from '@switchyard/contracts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { STALLED_CLIENT_MS_MAX, STALLED_UPLOAD_MS_MAX } from '../http/limits.ts';

const BOUNDARY = 'x';
const PART = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;
/** More than the kernel buffers for a client that reads nothing. */
const BYTES = 64 * 1024 * 1024;

let edge: TestEdge;
let key: string;
/** Outcome of the last upload at its store. */
let stored: PromiseWithResolvers<{ head: FileStoreHead; bytes: number; trailer: FileStoreTrailer } | Error>;
let began: PromiseWithResolvers<void>;
let sending: PromiseWithResolvers<IncomingCall>;

const fileOf = (bytes: number): FileObject => ({
  id: 'file_x',
  object: 'file',
  filename: 'a',
  media_type: 'text/plain',
  bytes,
  sha256: createHash('sha256').update('').digest('hex'),
  purpose: 'user_data',
  status: 'processed',
  created_at: 1_795_219_200,
  created_at_iso: '2026-11-21T00:00:00.000Z',
});

beforeAll(async () => {
  edge = await startTestEdge();
  key = await edge.addKey(ALL_PERMISSIONS);
  const control = await serve(edge.bus, { name: 'control', version: '0.0.1', description: 'of a test' });
  control.stream(FILE_STORE_SUBJECT, async (call) => {
    let bytes = 0;
    let end = Buffer.alloc(0);
    try {
      for await (const piece of call.body()) {
        bytes += piece.length;
        end = Buffer.concat([end, piece]).subarray(-FILE_STORE_TRAILER_BYTES);
        began.resolve();
      }
      bytes -= FILE_STORE_TRAILER_BYTES;
      const trailer = fileStoreTrailer.parse(JSON.parse(end.toString()));
      stored.resolve({ head: call.head as FileStoreHead, bytes, trailer });
      call.end(fileOf(bytes));
    } catch (error) {
      stored.resolve(error as Error);
    }
  });
  control.stream(FILE_CONTENT_SUBJECT, async (call) => {
    sending.resolve(call);
    call.setHead(fileOf(BYTES));
    for (let at = 0; at < BYTES && !call.isCancelled; at += 65_536)
      if (!call.write(Buffer.alloc(65_536))) await call.drained();
    call.end(null);
  });
});
beforeEach(() => {
  stored = Promise.withResolvers();
  began = Promise.withResolvers();
  sending = Promise.withResolvers();
});
afterAll(() => edge.stop());

/** Opens a connection and sends a request's head and the beginning of its body. */
async function open(method: string, path: string, bearer: string, ...rest: string[]): Promise<Socket> {
  const socket = connect(edge.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {}); // the edge is expected to cut it off
  const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\n`;
  socket.write(head + rest.join(''));
  return socket;
}

const beginUpload = (bearer = key, length = 1_000_000) =>
  open(
    'POST',
    '/v1/files',
    bearer,
    `content-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${length}\r\n\r\n`,
    PART,
    'a beginning',
  );

async function answerOf(socket: Socket): Promise<string> {
  let text = '';
  for await (const bytes of socket) {
    text += bytes.toString();
    if (text.includes('\r\n\r\n') && text.includes('}}')) break;
  }
  return text;
}

test('an upload tells the store its declared length and its metadata', async () => {
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new Blob([new Uint8Array(500_000)], { type: 'text/plain' }), '../../etc/pass\twd');
  const response = await fetch(`${edge.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  expect([response.status, ((await response.json()) as FileObject).bytes]).toEqual([201, 500_000]);
  const outcome = await stored.promise;
  if (outcome instanceof Error) throw outcome;
  expect(outcome.head).toMatchObject({ org: 'org_default', filename: 'passwd', media_type: 'text/plain' });
  expect(outcome.head.bytes_min).toBeGreaterThan(300_000);
  expect(outcome.head.bytes_min).toBeLessThanOrEqual(500_000);
});

const uploadForm = (...fields: readonly (readonly [string, string])[]) => {
  const form = new FormData();
  form.set('file', new Blob(['x']), 'a');
  for (const [name, value] of fields) form.set(name, value);
  const headers = { authorization: `Bearer ${key}` };
  return fetch(`${edge.url}/v1/files`, { method: 'POST', headers, body: form });
};

test('the fields of an upload reach the store, also those after the file', async () => {
  expect((await uploadForm()).status).toBe(201);
  expect(await stored.promise).toMatchObject({
    bytes: 1,
    trailer: { purpose: 'user_data', expires_after_seconds: null },
  });
  stored = Promise.withResolvers();
  const expiry = [
    ['expires_after[anchor]', 'created_at'],
    ['expires_after[seconds]', '3600'],
  ] as const;
  expect((await uploadForm(['purpose', 'vision'], ...expiry)).status).toBe(201);
  expect(await stored.promise).toMatchObject({
    bytes: 1,
    trailer: { purpose: 'vision', expires_after_seconds: 3_600 },
  });
});

test.each([
  ['purpose', 'fun', 'purpose'],
  ['expires_after[seconds]', '3599', 'expires_after[seconds]'],
  ['expires_after[anchor]', 'last_active_at', 'expires_after[anchor]'],
  ['expires_after[anchor]', 'created_at', 'expires_after[seconds]'],
  ['colour', 'red', 'colour'],
])('an upload whose field %s is %s is refused, and nothing is stored', async (name, value, param) => {
  const response = await uploadForm([name, value]);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param } });
  expect(await stored.promise).toBeInstanceOf(Error);
});

test('a stalled upload is given up on both sides, with an error code', async () => {
  const socket = await beginUpload();
  await began.promise;
  edge.clock.advance(STALLED_UPLOAD_MS_MAX); // bytes arrived in the first window
  edge.clock.advance(STALLED_UPLOAD_MS_MAX);
  expect(await answerOf(socket)).toContain('"code":"body_timeout"');
  expect(await stored.promise).toMatchObject({ code: 'body_timeout' });
  socket.destroy();
});

test('an upload whose client disconnects is given up at the store', async () => {
  const socket = await beginUpload();
  await began.promise;
  socket.destroy();
  expect(await stored.promise).toBeInstanceOf(Error);
});

test('an upload and a download end with their key', async () => {
  const revoked = await edge.addKey();
  const uploading = await beginUpload(revoked);
  await began.promise;
  const downloading = await open('GET', '/v1/files/file_x/content', revoked, '\r\n');
  const call = await sending.promise;
  const cut = once(call.signal, 'abort');
  await once(downloading, 'readable'); // its answer has begun: else it would be a whole one, with the error
  const closed = new Promise((resolve) => downloading.once('close', resolve)); // a reset may come before it is read
  await edge.revokeKey(revoked);
  expect(await answerOf(uploading)).toContain('"code":"invalid_api_key"');
  expect(await stored.promise).toBeInstanceOf(Error);
  await cut;
  downloading.resume();
  await closed; // cut off midway, never a complete answer
  uploading.destroy();
});

test('a download whose client reads nothing is cut off', async () => {
  const socket = await open('GET', '/v1/files/file_x/content', key, '\r\n');
  socket.pause();
  const call = await sending.promise;
  const cut = once(call.signal, 'abort');
  await expect
    .poll(() => {
      edge.clock.advance(STALLED_CLIENT_MS_MAX);
      return call.isCancelled;
    })
    .toBe(true);
  await cut;
  socket.destroy();
});
