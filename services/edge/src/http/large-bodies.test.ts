// Slow uploads over real sockets use up their own org's share of memory, and no other org's. A body in memory is free once
// it is handed over, however long its call runs.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type IncomingCall, serve } from '@switchyard/bus';
import {
  hostSubject,
  type ModelCallHead,
  modelCallSubject,
  VIDEO_CREATE_SUBJECT,
} from '@switchyard/contracts';
import { ORG_SHARE_MAX } from '@switchyard/service';
import { isFree } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { addComputer } from '../__fixtures__/test-computer.ts';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { BodyChecker } from './body-checker.ts';
import { BODY_PACE_MS } from './limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

let edge: TestEdge;
const sockets: Socket[] = [];
/** Orgs whose calls reached the router. */
const called: string[] = [];
/** Runs a command in a computer. */
let execPath: string;
/** Calls are answered after this. */
let mayAnswer = Promise.resolve();

beforeAll(async () => {
  edge = await startTestEdge();
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.stream(modelCallSubject('language'), answer);
  const videos = await serve(edge.bus, { name: 'video-worker', version: '0.0.1', description: 'of a test' });
  videos.stream(VIDEO_CREATE_SUBJECT, answer);
  const { id, host } = await addComputer(edge);
  execPath = `/v1/computers/${id}/exec`;
  const agent = await serve(edge.bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  agent.stream(hostSubject(host, 'exec'), answer);
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const socket of sockets.splice(0)) socket.destroy();
  await expect.poll(async () => [await gauge('bytes'), await gauge('waiting')]).toEqual([0, 0]);
});
afterAll(() => edge?.stop());

/** Answers with the number of bytes that arrived over the bus, and publishes no usage. */
async function answer(call: IncomingCall): Promise<void> {
  const { org } = call.head as ModelCallHead;
  called.push(org);
  const { length } = await call.readBody();
  await mayAnswer;
  call.setHead({ status: 200, content_type: 'application/json' });
  call.end({ cost: '0' }, Buffer.from(JSON.stringify({ org, bytes: length })));
}

/** Sends the beginning of a chunked chat request, with this many bytes of its body. */
function beginChunked(key: string, bytes: number): Socket {
  const socket = connect(edge.port, '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer ${key}\r\n` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  sendChunk(socket, bytes);
  return socket;
}

function sendChunk(socket: Socket, bytes: number): void {
  socket.write(`${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`);
}

async function gauge(name: string): Promise<number> {
  return Number(new RegExp(`^switchyard_large_bodies_${name} (\\d+)$`, 'm').exec(await edge.metrics())?.[1]);
}

const chatOf = (bytes: number) =>
  JSON.stringify({ model: 'acme/a', messages: [{ role: 'user', content: 'x'.repeat(bytes) }] });
const largeBody = () => chatOf(20 * MIB);

function post(key: string, path: string, body: string): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(edge.url + path, { method: 'POST', headers, body });
}
const chat = (key: string, body: string) => post(key, '/v1/chat/completions', body);

test('one org’s slow uploads hold only its own share: another org’s 20 MiB body is served at once', async () => {
  const slow = await edge.addKey(undefined, { org: 'org_slow' });
  const prompt = await edge.addKey(undefined, { org: 'org_prompt' });
  for (let uploads = 1; uploads <= 3; uploads += 1) beginChunked(slow, 2 * MIB);
  await expect.poll(() => gauge('waiting')).toBe(2);
  const body = largeBody();
  const response = await chat(prompt, body);
  expect([response.status, await response.json()]).toEqual([200, { org: 'org_prompt', bytes: body.length }]);
  expect(await gauge('waiting')).toBe(2);
  expect(await gauge('bytes')).toBeLessThanOrEqual((await gauge('bytes_max')) * ORG_SHARE_MAX);
});

test('a client that leaves while its body is checked calls no model, and its memory is free', async () => {
  const { check } = BodyChecker.prototype;
  const checking = vi.spyOn(BodyChecker.prototype, 'check');
  checking.mockImplementationOnce(async function (this: BodyChecker, name, request) {
    const checked = await check.call(this, name, request);
    const { socket } = request.raw;
    if (!socket.closed) await once(socket, 'close');
    return checked;
  });
  const key = await edge.addKey(undefined, { org: 'org_left' });
  const body = largeBody();
  const socket = connect(edge.port, '127.0.0.1').on('error', () => {});
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
  );
  await expect.poll(() => gauge('bytes')).toBeGreaterThan(0);
  socket.write(body.slice(-1));
  socket.destroySoon();
  await expect.poll(() => gauge('bytes')).toBe(0);
  const stays = await edge.addKey(undefined, { org: 'org_stays' });
  expect(
    (await chat(stays, '{"model":"acme/a","messages":[{"role":"user","content":"Hello!"}]}')).status,
  ).toBe(200);
  expect(called).toContain('org_stays');
  expect(called).not.toContain('org_left');
});

test('an upload that trickles loses its place, and gets 408 body_timeout', async () => {
  const key = await edge.addKey(undefined, { org: 'org_trickle' });
  const trickler = beginChunked(key, 2 * MIB);
  await expect.poll(() => gauge('bytes')).toBeGreaterThan(0);
  sendChunk(trickler, 900 * KIB);
  const refusal = once(trickler, 'data');
  edge.clock.advance(BODY_PACE_MS);
  edge.clock.advance(BODY_PACE_MS);
  expect(String((await refusal)[0])).toMatch(/^HTTP\/1\.1 408 [\s\S]*body_timeout/);
});

const FIRST_FRAME = `data:image/png;base64,${'A'.repeat(5 * MIB)}`;

test.each([
  ['a chat of 300 KiB', '/v1/chat/completions', chatOf(300 * KIB)],
  ['a chat of 900 KiB', '/v1/chat/completions', chatOf(900 * KIB)],
  ['a chat of 5 MiB', '/v1/chat/completions', chatOf(5 * MIB)],
  [
    'a video of 5 MiB',
    '/v1/videos/generations',
    JSON.stringify({ model: 'acme/film', prompt: 'a cat', duration: 4, image: FIRST_FRAME }),
  ],
  ['a command of 2 MiB', 'exec', JSON.stringify({ command: 'true', env: { A: 'x'.repeat(2 * MIB) } })],
])('the memory of the body of %s is free while its call runs on', async (_what, path, body) => {
  const { check } = BodyChecker.prototype;
  const checked = Promise.withResolvers<WeakRef<object>>();
  vi.spyOn(BodyChecker.prototype, 'check').mockImplementationOnce(async function (
    this: BodyChecker,
    name,
    request,
  ) {
    const members = await check.call(this, name, request);
    checked.resolve(new WeakRef((request.body as Buffer).buffer));
    return members;
  });
  const answered = Promise.withResolvers<void>();
  mayAnswer = answered.promise;
  const response = post(await edge.addKey(), path === 'exec' ? execPath : path, body);
  const memory = await checked.promise;
  await expect.poll(() => isFree(memory)).toBe(true);
  answered.resolve();
  await (await response).arrayBuffer();
});
