import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { type IncomingCall, serve } from '@switchyard/bus';
import { modelCallSubject, ServiceError } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { STALLED_CLIENT_CHECK_MS, STALLED_CLIENT_MS_MAX } from '../http/limits.ts';

let edge: TestEdge;
let key: string;
let taken: (call: IncomingCall) => void;

/** In total, more than the kernel buffers on both sides of the socket hold. */
const PIECE = Buffer.alloc(128 * 1024, 'x');
const PIECES = 256;
/** End of a chunked body; it may arrive in two pieces. */
const END = '0\r\n\r\n';

beforeAll(async () => {
  edge = await startTestEdge();
  key = await edge.addKey();
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.stream(modelCallSubject('language'), (call) => taken(call));
});
afterAll(() => edge?.stop());

const CHAT = { path: '/v1/chat/completions', hello: { messages: [{ role: 'user', content: 'Hello!' }] } };
const RESPONSES = { path: '/v1/responses', hello: { input: 'Hello!' } };

async function openStream({ path, hello } = CHAT as { path: string; hello: object }, bearer = key) {
  const call = new Promise<IncomingCall>((resolve) => {
    taken = resolve;
  });
  const socket = connect(edge.port, '127.0.0.1').on('error', () => {});
  const body = JSON.stringify({
    model: 'acme/any',
    stream: true,
    ...hello,
  });
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer ${bearer}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const incoming = await call;
  incoming.setHead({ status: 200, content_type: 'text/event-stream' });
  return { socket, incoming };
}

/** Sends a long answer to its end, at the pace that the edge allows. */
async function flood(incoming: IncomingCall): Promise<void> {
  for (let sent = 0; sent < PIECES && !incoming.isCancelled; sent++)
    if (!incoming.write(PIECE)) await incoming.drained();
  incoming.end({ cost: '0' });
}

test('a client that reads nothing until the timeout is disconnected, and its call is cancelled', async () => {
  const { socket, incoming } = await openStream();
  const cancelled = new Promise<void>((resolve) => incoming.onCancelled(resolve));
  const flooding = flood(incoming);
  await expect
    .poll(() => {
      edge.clock.advance(STALLED_CLIENT_CHECK_MS);
      return incoming.isCancelled;
    })
    .toBe(true);
  await cancelled;
  await flooding;
  socket.resume();
  await once(socket, 'close');
});

test('a client that resumes reading before the timeout gets the whole answer', async () => {
  const { socket, incoming } = await openStream();
  const flooding = flood(incoming);
  await once(socket, 'readable');
  edge.clock.advance(STALLED_CLIENT_MS_MAX - 1);
  let bytes = 0;
  let tail = '';
  const ended = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      tail = (tail + chunk.toString('latin1')).slice(-END.length);
      if (tail === END) resolve();
    });
  });
  await flooding;
  await ended;
  expect(bytes).toBeGreaterThan(PIECES * PIECE.length);
  socket.destroy();
});

test('a stream whose key is revoked between its end and the last byte that its client reads is cut off', async () => {
  const responses: ServerResponse[] = [];
  const note = (message: unknown) => responses.push((message as { response: ServerResponse }).response);
  subscribe('http.server.request.start', note);
  const revoked = await edge.addKey();
  const { socket, incoming } = await openStream(CHAT, revoked);
  unsubscribe('http.server.request.start', note);
  const [response] = responses;
  incoming.write(Buffer.from(': begun\n\n'));
  await once(socket, 'data');
  Object.assign(response?.socket ?? {}, { _write() {}, _writev: null }); // as if the client read nothing
  incoming.write(Buffer.from('data: {}\n\n'));
  incoming.end({ cost: '0' });
  await expect.poll(() => response?.writableEnded).toBe(true);
  const closed = once(socket, 'close');
  await edge.revokeKey(revoked);
  await closed;
});

test.each([
  [CHAT, /^data: \{"error":\{.*"code":"upstream_error"/m],
  [
    RESPONSES,
    /^event: error\ndata: \{"type":"error","sequence_number":0,"error":\{.*"code":"upstream_error"/m,
  ],
])('a stream that fails on the bus ends as its dialect ends: $path', async (dialect, end) => {
  const { socket, incoming } = await openStream(dialect);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  incoming.write(Buffer.from(': begun\n\n'));
  await expect.poll(() => text).toContain(': begun');
  incoming.fail(new ServiceError('upstream_error', 'Gone.', { logged: true }));
  await expect.poll(() => text).toMatch(end);
  socket.destroy();
});
