// A real edge that may have one model call open.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type IncomingCall, openBucket, serve } from '@switchyard/bus';
import { type ErrorBody, modelCallSubject, newId } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { BURST_MS_MAX, OVERLOAD_WAIT_MS_MAX } from './fair-queue.ts';

let edge: TestEdge;
let key: string;
const open: IncomingCall[] = [];
/** Calls that reached the router. */
let received = 0;

beforeAll(async () => {
  edge = await startTestEdge({ SWITCHYARD_CALLS_MAX: '1' });
  key = await edge.addKey();
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  for (const type of ['language', 'transcription'] as const)
    router.stream(modelCallSubject(type), (call) => {
      received += 1;
      open.push(call);
    });
});
afterAll(() => edge?.stop());

const CHAT = { model: 'acme/any', messages: [{ role: 'user', content: 'Hello!' }] };
const chat = (more: object = {}, headers: Record<string, string> = {}) =>
  fetch(`${edge.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...CHAT, ...more }),
  });
const waiting = async () => /switchyard_edge_requests_waiting (\d+)\n/.exec(await edge.metrics())?.[1];

/** Sends a call that waits, and disconnects; resolves when the edge has noticed. */
async function leaveWhileWaiting(more: object = {}, header = ''): Promise<void> {
  const body = JSON.stringify({ ...CHAT, ...more });
  const socket = connect(edge.port, '127.0.0.1').resume();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n${header}` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await expect.poll(waiting).toBe('1');
  socket.end();
  await once(socket, 'close'); // the edge closes its side once it has read the end of the other
}

function respond(): void {
  for (const call of open.splice(0)) {
    call.setHead({ status: 200, content_type: 'application/json' });
    call.end({ cost: '0' }, Buffer.from('{}'));
  }
}

test('a call beyond the bound begins when another ends', async () => {
  const first = chat();
  await expect.poll(() => open.length).toBe(1);
  const second = chat();
  await expect.poll(waiting).toBe('1');
  respond();
  expect((await first).status).toBe(200);
  await expect.poll(() => open.length).toBe(1);
  respond();
  expect((await second).status).toBe(200);
});

test('a call that waits too long is answered 503 with Retry-After, and the next call is served', async () => {
  const first = chat();
  await expect.poll(() => open.length).toBe(1);
  const late = chat();
  await expect.poll(waiting).toBe('1');
  edge.clock.advance(BURST_MS_MAX + OVERLOAD_WAIT_MS_MAX);
  const refused = await late;
  expect(refused.status).toBe(503);
  expect(Object.fromEntries(refused.headers)).toMatchObject({ 'retry-after': '1', 'x-should-retry': 'true' });
  expect(((await refused.json()) as ErrorBody).error.code).toBe('overloaded');
  expect(await edge.metrics()).toContain('switchyard_edge_requests_shed_total 1\n');
  respond();
  expect((await first).status).toBe(200);
  const next = chat();
  await expect.poll(() => open.length).toBe(1);
  respond();
  expect((await next).status).toBe(200);
});

test('a client that leaves while its call waits takes no slot, and its call reaches no router', async () => {
  const before = received;
  const first = chat();
  await expect.poll(() => open.length).toBe(1);
  await leaveWhileWaiting();
  respond();
  expect((await first).status).toBe(200);
  await expect.poll(waiting).toBe('0');
  const next = chat();
  await expect.poll(() => open.length).toBe(1);
  respond();
  expect((await next).status).toBe(200);
  expect(received - before, 'the first and the next').toBe(2);
});

test('a client that leaves before its stream begins takes no slot, and its Idempotency-Key is free', async () => {
  const first = chat();
  await expect.poll(() => open.length).toBe(1);
  await leaveWhileWaiting({ stream: true }, 'idempotency-key: left-early\r\n');
  respond();
  expect((await first).status).toBe(200);
  await expect.poll(waiting).toBe('0');
  const again = chat({ stream: true }, { 'idempotency-key': 'left-early' });
  await expect.poll(() => open.length).toBe(1);
  respond();
  expect((await again).status).toBe(200);
});

test('a transcription takes a slot when its audio has arrived', async () => {
  const other = await edge.addKey(undefined, { org: newId('org') });
  const body = JSON.stringify({ model: 'acme/any', audio: 'UklGRiQAAABXQVZF', media_type: 'audio/wav' });
  const socket = connect(edge.port, '127.0.0.1').setEncoding('utf8');
  socket.write(
    `POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${other}\r\nconnection: close\r\n` +
      `content-type: application/json\r\nidempotency-key: slow\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  const reserved = await openBucket(edge.bus, 'idempotency');
  await expect.poll(async () => (await reserved.entries(`*.${hash('sha256', 'slow')}`)).length).toBe(1);
  const first = chat();
  await expect.poll(() => open.length).toBe(1);
  socket.write(body);
  await expect.poll(waiting).toBe('1');
  respond();
  expect((await first).status).toBe(200);
  await expect.poll(() => open.length).toBe(1);
  respond();
  expect((await socket.toArray()).join('')).toMatch(/^HTTP\/1\.1 200 /);
});
