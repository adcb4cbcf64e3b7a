// Open downloads are cut off when their key is revoked or their org is suspended.
import { once } from 'node:events';
import { connect } from 'node:net';
import { type CreatedOrg, videoObject } from '@switchyard/contracts';
import {
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callAs, makeKey, makeOrg } from './__fixtures__/tenants.ts';

const MIB = 1024 * 1024;
/** More than all buffers on the way hold. */
const CONTENT = Buffer.alloc(48 * MIB, 7);

let stack: TestStack;
let upstream: Upstream;
let org: CreatedOrg;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.on('clip', ({ headers }, response) => {
    const id = `clip_${headers['idempotency-key']}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id, object: 'video', status: 'queued' }));
  });
  upstream.on('', ({ path }, response) => {
    if (path.endsWith('/content')) {
      response.writeHead(200, { 'content-type': 'video/mp4' });
      return void response.end(CONTENT);
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: path.split('/').at(-1), object: 'video', status: 'completed' }));
  });
  const clip = {
    ...{ id: 'acme/clip', type: 'video' as const, name: 'clip' },
    modalities: { input: ['text' as const], output: ['video' as const] },
    pricing: { second: { '480p': '0.05' } },
    upstreams: [{ adapter: 'openai-compatible', base_url: upstream.url, model: 'clip' }],
  };
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: await writeTestCatalog({ url: upstream.url, models: [clip] }) },
  });
  org = await makeOrg(stack, 'A');
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

/** Sends a GET and reads the beginning of the answer; `rest` reads on, and returns the number of all bytes. */
async function beginGet(url: string, key?: string) {
  const { hostname, port, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  const authorization = key === undefined ? '' : `authorization: Bearer ${key}\r\n`;
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`);
  let bytes = 0;
  socket.on('data', (piece) => {
    bytes += piece.length;
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return {
    status: first.toString('latin1', 9, 12),
    async rest() {
      socket.resume();
      await closed;
      return bytes;
    },
  };
}

async function storeFile(key: string): Promise<string> {
  const body = new FormData();
  body.append('file', new Blob([CONTENT]), 'large.bin');
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${stack.url}/v1/files`, { method: 'POST', headers, body });
  return ((await answer.json()) as { id: string }).id;
}

const setStatus = (status: string) => callAs(stack, stack.key, 'PATCH', `/v1/orgs/${org.id}`, { status });
const statusOf = async (key: string) =>
  (await fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;

test('a download ends when its key is revoked', async () => {
  const { id: keyId, key } = await makeKey(stack, org.id, ['storage:read', 'storage:write']);
  const download = await beginGet(`${stack.url}/v1/files/${await storeFile(key)}/content`, key);
  expect(download.status).toBe('200');
  await callAs(stack, org.key, 'DELETE', `/v1/keys/${keyId}`);
  await expect.poll(() => statusOf(key)).toBe(401);
  const got = await download.rest();
  expect(got).toBeLessThan(CONTENT.length / 2);
});

test('a download of a file, and of a video at its signed address, ends when the org is suspended', async () => {
  const id = await storeFile(org.key);
  const file = await beginGet(`${stack.url}/v1/files/${id}/content`, org.key);
  const { id: made } = await callAs<{ id: string }>(stack, org.key, 'POST', '/v1/videos/generations', {
    ...{ model: 'acme/clip', prompt: 'x', duration: 1 },
  });
  const address = async () => {
    const { videos } = videoObject.parse(await callAs(stack, org.key, 'GET', `/v1/videos/${made}`)) as {
      videos?: { url: string }[];
    };
    return videos?.[0]?.url;
  };
  await expect.poll(address).toBeDefined();
  const video = await beginGet((await address()) as string);
  expect([file.status, video.status]).toEqual(['200', '200']);
  await setStatus('suspended');
  await expect.poll(() => statusOf(org.key)).toBe(403);
  const got = [await file.rest(), await video.rest()];
  for (const bytes of got) expect(bytes).toBeLessThan(CONTENT.length / 2);
  await setStatus('active');
  await expect.poll(() => statusOf(org.key)).toBe(200);
});
