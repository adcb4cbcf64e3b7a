// Caches. A client that has a file already gets 304 without its bytes, from the store of files and from a computer alike.
// A condition of a write reaches the computer. No other cache may store an answer to a key.
import { serve } from '@switchyard/bus';
import {
  FILE_CONTENT_SUBJECT,
  type FileObject,
  type HostFileReadReply,
  type HostFileWriteHead,
  hostSubject,
  ServiceError,
} from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addComputer } from '../__fixtures__/test-computer.ts';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

const SHA256 = 'a'.repeat(64);
const FILE: FileObject = {
  id: 'file_x',
  object: 'file',
  filename: 'a',
  media_type: 'text/plain',
  bytes: 2,
  sha256: SHA256,
  purpose: 'user_data',
  status: 'processed',
  created_at: 1_795_219_200,
  created_at_iso: '2026-11-21T00:00:00.000Z',
};
const IN_COMPUTER: HostFileReadReply = {
  kind: 'file',
  name: 'a',
  bytes: 2,
  modified_at: '2026-11-21T00:00:00.000Z',
  etag: `"${SHA256}"`,
  part: null,
};

let edge: TestEdge;
let authorization: string;
/** What the computer is asked to write. */
let written: HostFileWriteHead;
let paths: Record<'file' | 'computer' | 'folder' | 'events', string>;

beforeAll(async () => {
  edge = await startTestEdge();
  authorization = `Bearer ${await edge.addKey()}`;
  const { id, host } = await addComputer(edge);
  paths = {
    ...{ file: '/v1/files/file_x/content', computer: `/v1/computers/${id}/files?path=a` },
    ...{ folder: `/v1/computers/${id}/files?path=folder`, events: '/v1/events' },
  };
  const service = await serve(edge.bus, { name: 'control', version: '0.0.1', description: 'of a test' });
  service.stream(hostSubject(host, 'file-write'), (call) => {
    written = call.head as HostFileWriteHead;
    throw new ServiceError('precondition_failed', 'another file');
  });
  service.handle('files.get', async () => FILE);
  for (const [subject, head] of [
    [FILE_CONTENT_SUBJECT, FILE],
    [hostSubject(host, 'file-read'), IN_COMPUTER],
  ] as const)
    service.stream(subject, (call) => {
      call.setHead((call.head as { path?: string }).path === 'folder' ? { kind: 'folder' } : head);
      call.end(null, Buffer.from('hi'));
    });
});
afterAll(() => edge?.stop());

test.each([
  ['file', `"${SHA256}"`, 304],
  ['file', `"other", W/"${SHA256}"`, 304],
  ['file', '*', 304],
  ['file', '"other"', 200],
  ['computer', `"${SHA256}"`, 304],
  ['computer', '*', 304],
  ['computer', '"other"', 200],
] as const)('of a %s, If-None-Match: %s gives %i', async (kind, tags, status) => {
  const headers = { authorization, 'if-none-match': tags };
  for (const method of ['GET', 'HEAD']) {
    const answered = await fetch(edge.url + paths[kind], { method, headers });
    expect([answered.status, answered.headers.get('etag')]).toEqual([status, `"${SHA256}"`]);
    expect(await answered.text()).toBe(status === 200 && method === 'GET' ? 'hi' : '');
  }
});

test.each([
  ['file', 'private'],
  ['computer', 'private, no-cache'],
  ['folder', 'no-store'],
  ['events', 'no-store'],
] as const)('the answer of a %s is %s', async (kind, caching) => {
  const answered = await fetch(edge.url + paths[kind], { headers: { authorization } });
  expect([answered.status, answered.headers.get('cache-control')]).toEqual([200, caching]);
  await answered.body?.cancel();
});

test('If-Match and If-None-Match of a write reach the computer, which may refuse with 412', async () => {
  const headers = { authorization, 'if-match': '"a", "b"', 'if-none-match': '*' };
  const answered = await fetch(edge.url + paths.computer, { method: 'PUT', headers, body: 'hi' });
  expect(answered.status).toBe(412);
  expect(written).toMatchObject({ if_match: '"a", "b"', if_none_match: '*' });
});
