// Behaviour of connections beyond a single valid request: HEAD, draining, clients that do not read, pipelined and
// malformed requests.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { serve } from '@switchyard/bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { refusesConnections, startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { Connections } from './connections.ts';
import {
  PIPELINED_REQUESTS_MAX,
  SMALL_BODY_BYTES_MAX,
  STALLED_CLIENT_CHECK_MS,
  STALLED_CLIENT_MS_MAX,
  STALLED_UPLOAD_MS_MAX,
} from './limits.ts';

let edge: TestEdge;
let authorization: string;
/** Requests that wait in the router, and the function that releases them. */
let waiting: number;
let letGo: () => void;

beforeEach(async () => {
  edge = await startTestEdge();
  authorization = `Authorization: Bearer ${await edge.addKey()}`;
  waiting = 0;
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.handle('models.list', async () => {
    waiting += 1;
    await released;
    return { data: [] };
  });
});
afterEach(async () => {
  letGo();
  await edge?.stop();
});

const MODELS = '/v1/models';
const requestFor = (path: string) => `GET ${path} HTTP/1.1\r\nHost: edge\r\n${authorization}\r\n\r\n`;

interface Connection {
  socket: Socket;
  /** Everything received so far. */
  received(): string;
}

function open(port = edge.port): Connection {
  let text = '';
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return { socket, received: () => text };
}

const statusesOf = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);

test('HEAD is answered on every GET route, without a body', async () => {
  letGo();
  for (const path of ['/readyz', MODELS]) {
    const headers = { authorization: authorization.replace('Authorization: ', '') };
    const response = await fetch(edge.url + path, { method: 'HEAD', headers });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.text()).toBe('');
  }
  expect((await fetch(`${edge.url}/v1/models`, { method: 'HEAD' })).status).toBe(401);
  const wrong = await fetch(`${edge.url}/v1/models`, { method: 'PUT' });
  expect(wrong.status).toBe(405);
  expect(wrong.headers.get('allow')).toBe('GET, HEAD');
  expect((await fetch(`${edge.url}/v1/embeddings`, { method: 'HEAD' })).status).toBe(405);
});

test('the public port answers probes without a key, and no metrics', async () => {
  for (const path of ['/livez', '/readyz']) {
    const response = await fetch(edge.url + path);
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
  }
  expect((await fetch(`${edge.url}/metrics`)).status).toBe(404);
});

test('a draining edge answers requests on its open connections, closes them, and ends', async () => {
  const [busy, single] = [open(), open()];
  for (const { socket } of [busy, single]) socket.write(requestFor(MODELS));
  await expect.poll(() => waiting).toBe(2);
  const drained = edge.drain();
  await expect.poll(() => refusesConnections(edge)).toBe(true);
  busy.socket.write(requestFor('/nowhere'));
  busy.socket.write(requestFor('/livez'));
  letGo();
  await Promise.all([busy, single].map(({ socket }) => once(socket, 'close')));
  await drained;
  expect(statusesOf(single.received())).toEqual(['200']);
  expect(statusesOf(busy.received()).slice(0, 2)).toEqual(['200', '404']);
  expect(busy.received()).toMatch(/ 404 .*connection: close/is); // an error says it too
  expect(busy.received()).not.toContain('Service Unavailable');
});

test('a draining edge does not wait for a connection without any request', async () => {
  const { socket } = open();
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  await (await fetch(`${edge.url}/livez`)).text(); // a later connection, so the edge has accepted both
  await edge.drain();
  await closed;
});

const LARGE = '/docs/swagger-ui-bundle.js';
/** Answers that exceed what the kernel buffers. */
const LARGE_ANSWERS = 16;

/** Sends requests in one packet; returns when the first answer has begun. The socket is not read further. */
async function askAndPause(requests: number): Promise<{ socket: Socket; answerBytes: number }> {
  const answerBytes = (await (await fetch(edge.url + LARGE)).bytes()).length;
  const socket = connect(edge.port, '127.0.0.1').on('error', () => {});
  socket.write(requestFor(LARGE).repeat(requests));
  await once(socket, 'readable');
  return { socket, answerBytes };
}

async function readToEnd(socket: Socket): Promise<Buffer> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => void pieces.push(piece));
  await once(socket, 'close');
  return Buffer.concat(pieces);
}

test('a draining edge sends the answers that a slow client has not read yet', async () => {
  const { socket, answerBytes } = await askAndPause(LARGE_ANSWERS);
  const drained = edge.drain();
  await expect.poll(() => refusesConnections(edge)).toBe(true);
  const received = await readToEnd(socket);
  expect(received.length).toBeGreaterThan(LARGE_ANSWERS * answerBytes);
  await drained;
});

test('a client that reads nothing of a finished answer is disconnected', async () => {
  const { socket, answerBytes } = await askAndPause(LARGE_ANSWERS);
  const checks = STALLED_CLIENT_MS_MAX / STALLED_CLIENT_CHECK_MS + 4;
  for (let check = 0; check < checks; check += 1) {
    await (await fetch(`${edge.url}/livez`)).text(); // meanwhile the kernel's buffers fill
    edge.clock.advance(STALLED_CLIENT_CHECK_MS);
  }
  expect((await readToEnd(socket)).length).toBeLessThan(LARGE_ANSWERS * answerBytes);
});

test('a connection with too many pipelined requests is closed', async () => {
  const { socket, received } = open();
  socket.write(requestFor(LARGE).repeat(PIPELINED_REQUESTS_MAX + 1));
  await once(socket, 'close');
  expect(statusesOf(received()).length).toBeLessThan(PIPELINED_REQUESTS_MAX);
});

test('a malformed request behind one in progress writes nothing into that answer', async () => {
  const { socket, received } = open();
  socket.write(requestFor(MODELS));
  await expect.poll(() => waiting).toBe(1);
  socket.write('no HTTP at all\r\n\r\n');
  await once(socket, 'close');
  expect(received()).toBe('');
});

test('a malformed request after an answer, and one with a malformed body, get a 400', async () => {
  letGo();
  const after = open();
  after.socket.write(requestFor(MODELS));
  await expect.poll(() => statusesOf(after.received())).toEqual(['200']);
  after.socket.write('no HTTP at all\r\n\r\n');
  await once(after.socket, 'close');
  expect(statusesOf(after.received())).toEqual(['200', '400']);
  expect(after.received()).toMatch(/X-Request-Id: (req_\w+)\r\n[\s\S]*"request_id":"\1"/);

  const within = open();
  const chunked = 'Content-Type: application/json\r\nTransfer-Encoding: chunked';
  within.socket.write(
    `POST /v1/keys HTTP/1.1\r\nHost: edge\r\n${authorization}\r\n${chunked}\r\n\r\nno chunk\r\n`,
  );
  await once(within.socket, 'close');
  expect(statusesOf(within.received())).toEqual(['400']);
});

test('a request that does not arrive in time gets 408, and a connection without one is closed', async () => {
  const upgrades = { isAccepted: () => false };
  const connections = new Connections({ upgrades, clock: edge.clock });
  const server = createServer({ connectionsCheckingInterval: 20 });
  const accepted: Socket[] = [];
  server.on('connection', (socket) => void accepted.push(socket));
  server.on('clientError', (error, socket) => connections.refuse(error, socket as Socket, 'req_late'));
  connections.watch(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const [silent, late] = [open(port), open(port)];
  late.socket.write('GET / HTTP/1.1\r\nHost: edge\r\n');
  await expect.poll(() => accepted.map(({ bytesRead }) => bytesRead > 0).sort()).toEqual([false, true]);
  server.headersTimeout = 1;
  await Promise.all([silent, late].map(({ socket }) => once(socket, 'close')));
  expect(silent.received()).toBe('');
  expect(statusesOf(late.received())).toEqual(['408']);
  expect(late.received()).toContain('"code":"body_timeout"');
  server.close();
});

test('a body that a route without one discards may neither stall nor exceed its limit', async () => {
  const head = (bytes: number) =>
    `DELETE /v1/session HTTP/1.1\r\nHost: edge\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`;
  const [stalled, long, whole] = [open(), open(), open()];
  stalled.socket.write(head(SMALL_BODY_BYTES_MAX) + 'x'.repeat(SMALL_BODY_BYTES_MAX - 1));
  long.socket.write(head(SMALL_BODY_BYTES_MAX + 1) + 'x'.repeat(SMALL_BODY_BYTES_MAX + 1));
  whole.socket.write(head(SMALL_BODY_BYTES_MAX) + 'x'.repeat(SMALL_BODY_BYTES_MAX));
  await expect.poll(() => statusesOf(long.received())).toEqual(['413']);
  await expect.poll(() => statusesOf(whole.received())).toEqual(['401']);
  await expect
    .poll(() => {
      edge.clock.advance(STALLED_UPLOAD_MS_MAX);
      return statusesOf(stalled.received());
    })
    .toEqual(['408']);
});

test('a request whose Host is not one valid name is refused, and answers to a key are stored by no cache', async () => {
  letGo();
  const invalid = ['a b', 'a<b', 'edge@evil', '', 'a\r\nHost: b', 'a:99999', '999.999.999.999', '[::::]'];
  for (const hosts of invalid.map((host) => `Host: ${host}`)) {
    const { socket, received } = open();
    socket.write(`GET ${MODELS} HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n${authorization}\r\n\r\n`);
    await once(socket, 'close');
    expect([hosts, ...statusesOf(received())]).toEqual([hosts, '400']);
  }
  for (const host of ['edge', 'api.example.com:8443', '127.0.0.1', '[::1]:80', 'my_host']) {
    const { socket, received } = open();
    socket.write(`GET ${MODELS} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${authorization}\r\n\r\n`);
    await once(socket, 'close');
    expect([host, ...statusesOf(received())]).toEqual([host, '200']);
    expect(received()).toContain('cache-control: no-store');
  }
});
