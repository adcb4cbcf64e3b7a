// `Idempotency-Key` over HTTP: two real edges on one nats-server, and a fake router that counts its calls.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Bus, connectBus, type IncomingCall, openBucket, serve } from '@switchyard/bus';
import {
  DEFAULT_ORG,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  modelCallSubject,
  ServiceError,
} from '@switchyard/contracts';
import { makeLogger, readConfig } from '@switchyard/service';
import { FakeClock, temporaryFolder } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { addComputer } from '../__fixtures__/test-computer.ts';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';
import { config } from '../config.ts';
import { type RunningEdge, start } from '../run.ts';

/** Large answers before another on the same connection: more than the kernel buffers. */
const UNREAD_ANSWERS = 16;

let first: TestEdge;
let second: RunningEdge & { bus: Bus };
let key: string;
/** How the router answers, and the calls it received. */
let answer: (call: IncomingCall, n: number) => Promise<void> | void;
let calls: string[] = [];

beforeAll(async () => {
  first = await startTestEdge();
  const logger = makeLogger('edge', 'silent');
  const bus = await connectBus({ url: first.natsUrl, service: 'edge', logger });
  const edge = await start({
    config: readConfig(config, { SWITCHYARD_DATA: await temporaryFolder('edge'), PORT: '0' }),
    bus,
    logger,
    clock: new FakeClock(),
    metrics: new Registry(),
    signal: new AbortController().signal,
  });
  second = { ...edge, bus };
  key = await first.addKey();
  const router = await serve(first.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  for (const type of ['language', 'image', 'speech', 'transcription'] as const)
    router.stream(modelCallSubject(type), async (call) => {
      await call.readBody();
      calls.push((call.head as { request_id: string }).request_id);
      await answer(call, calls.length);
    });
});
afterAll(async () => {
  await second?.stop();
  await second?.bus.close();
  await first?.stop();
});
beforeEach(() => {
  calls = [];
  answer = (call, n) => finish(call, { n });
});

function finish(call: IncomingCall, value: unknown): void {
  call.setHead({ status: 200, content_type: 'application/json' });
  call.end({ cost: '0.000001' }, Buffer.from(JSON.stringify(value)));
}

const CHAT = { model: 'acme/any', messages: [{ role: 'user', content: 'Hello!' }] };

interface Ask {
  edge?: { url: string };
  path?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function post(idempotencyKey: string, { edge = first, path, body = CHAT, headers, signal }: Ask = {}) {
  const answered = await fetch(`${edge.url}${path ?? '/v1/chat/completions'}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  return readAnswer(answered);
}

async function readAnswer(answered: Response) {
  const bytes = Buffer.from(await answered.arrayBuffer());
  const headers = Object.fromEntries(answered.headers);
  for (const ofConnection of ['date', 'connection', 'keep-alive', 'transfer-encoding'])
    delete headers[ofConnection];
  const json = headers['content-type']?.startsWith('application/json') ? JSON.parse(bytes.toString()) : null;
  return { status: answered.status, headers, bytes, json };
}

const IN_USE = { status: 409, json: { error: { code: 'idempotency_in_use', param: 'Idempotency-Key' } } };

test('a repeat gets the first answer, byte for byte with status and headers, from either edge', async () => {
  const id = randomUUID();
  const original = await post(id);
  expect(original).toMatchObject({ status: 200, json: { n: 1 }, headers: { 'x-service-cost': '0.000001' } });
  expect(original.headers['idempotent-replayed']).toBeUndefined();
  for (const edge of [first, second]) {
    const repeat = await post(id, { edge });
    expect(repeat.bytes.equals(original.bytes)).toBe(true);
    expect(repeat.status).toBe(200);
    expect(repeat.headers).toEqual({ ...original.headers, 'idempotent-replayed': 'true' });
  }
  expect(calls).toHaveLength(1);
});

test('a call is settled once its answer is kept, although its client reads slowly', async () => {
  const id = randomUUID();
  const socket = connect(Number(new URL(first.url).port), '127.0.0.1').on('error', () => {});
  const body = JSON.stringify(CHAT);
  socket.write(
    `${'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: edge\r\n\r\n'.repeat(UNREAD_ANSWERS)}` +
      `POST /v1/chat/completions HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nIdempotency-Key: ${id}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await expect.poll(() => calls.length).toBe(1);
  await expect.poll(async () => (await post(id)).json.n).toBe(1);
  const folder = join(first.folder, 'journal');
  const journal = async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith('.ndjson')); // pipes lie beside them
    return (await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))).join('');
  };
  await expect.poll(journal).toContain(`-${calls[0]}\n`);
  socket.destroy();
});

test('the stored data reveal neither the key nor the answer', async () => {
  const id = randomUUID();
  answer = (call) => finish(call, 'a secret that was made');
  await post(id);
  const entries = JSON.stringify(await (await openBucket(first.bus, 'idempotency')).entries());
  expect(entries).toContain(calls[0]);
  for (const secret of ['a secret', Buffer.from('"a secret').toString('base64').slice(0, 12), id])
    expect(entries).not.toContain(secret);
});

test('without the header every request runs, and nothing is stored', async () => {
  const bucket = await openBucket(first.bus, 'idempotency');
  const before = (await bucket.kv.status()).values;
  const ask = () =>
    fetch(`${first.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(CHAT),
    });
  await (await ask()).text();
  await (await ask()).text();
  expect(calls).toHaveLength(2);
  expect((await bucket.kv.status()).values).toBe(before);
});

test('another request under the same key is refused: body, path or query', async () => {
  const id = randomUUID();
  await post(id);
  const others: Ask[] = [
    { body: { ...CHAT, model: 'acme/other' } },
    { path: '/v1/chat/completions?a=b' },
    { path: '/v1/images/generations' },
  ];
  for (const other of others)
    expect(await post(id, other)).toMatchObject({
      status: 409,
      headers: { 'x-should-retry': 'false' },
      json: { error: { code: 'idempotency_conflict', details: { request_id: calls[0] } } },
    });
  expect(calls).toHaveLength(1);
});

test('a repeat during the first request gets 409 and may retry; then it gets the answer', async () => {
  const id = randomUUID();
  const arrived = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  answer = async (call) => {
    arrived.resolve();
    await go.promise;
    finish(call, 'late');
  };
  const original = post(id);
  await arrived.promise;
  for (const edge of [first, second])
    expect(await post(id, { edge })).toMatchObject({
      ...IN_USE,
      headers: { 'retry-after': '1', 'x-should-retry': 'true' },
    });
  go.resolve();
  expect(await original).toMatchObject({ status: 200, json: 'late' });
  expect(await post(id, { edge: second })).toMatchObject({ status: 200, json: 'late' });
  expect(calls).toHaveLength(1);
});

test('one of twenty concurrent requests over two edges runs', async () => {
  const id = randomUUID();
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, n) => post(id, { edge: n % 2 === 0 ? first : second })),
  );
  expect(calls).toHaveLength(1);
  const taken = all.filter(({ status }) => status === 200);
  expect(taken.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
  for (const { json } of taken) expect(json).toEqual({ n: 1 });
  for (const refused of all.filter(({ status }) => status !== 200)) expect(refused).toMatchObject(IN_USE);
  expect(await post(id)).toMatchObject({ status: 200, json: { n: 1 } });
});

test('a client that disconnects midway gets the answer on its repeat: the work completed and is charged', async () => {
  const id = randomUUID();
  const arrived = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  let cancelled = false;
  answer = async (call) => {
    call.onCancelled(() => {
      cancelled = true;
    });
    arrived.resolve();
    await go.promise;
    finish(call, 'worth waiting for');
  };
  const leaving = new AbortController();
  const left = post(id, { signal: leaving.signal });
  await arrived.promise;
  leaving.abort();
  await expect(left).rejects.toThrow();
  expect(await post(id)).toMatchObject(IN_USE);
  go.resolve();
  await expect.poll(() => post(id)).toMatchObject({ status: 200, json: 'worth waiting for' });
  expect(cancelled).toBe(false);
  expect(calls).toHaveLength(1);
  expect(first.events.of('call.voided')).toEqual([]);
});

test('a client that disconnects during a long answer blocks nothing, and may fetch all of it later', async () => {
  const id = randomUUID();
  const piece = Buffer.alloc(128 * 1024, 's');
  const pieces = 64;
  const begun = Promise.withResolvers<void>();
  answer = async (call) => {
    call.setHead({ status: 200, content_type: 'audio/mpeg', cost: '0.01' });
    for (let sent = 0; sent < pieces; sent++) {
      if (!call.write(piece)) await call.drained();
      begun.resolve();
    }
    call.end({ cost: '0.01' });
  };
  const body = { model: 'acme/voice', input: 'Hello!', voice: 'alloy' };
  const text = JSON.stringify(body);
  const socket = connect(first.port, '127.0.0.1').on('error', () => {});
  socket.write(
    `POST /v1/audio/speech HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer ${key}\r\nIdempotency-Key: ${id}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  await begun.promise;
  socket.destroy(); // before reading
  await once(socket, 'close');
  const ask = () => post(id, { path: '/v1/audio/speech', body });
  await expect.poll(async () => (await ask()).status).toBe(200);
  const repeat = await ask();
  expect(repeat.headers).toMatchObject({
    'content-type': 'audio/mpeg',
    'content-length': String(pieces * piece.length),
    'x-service-cost': '0.01',
  });
  expect(repeat.bytes.equals(Buffer.alloc(pieces * piece.length, 's'))).toBe(true);
  expect(calls).toHaveLength(1);
});

test('an answer of several megabytes is repeated byte for byte', async () => {
  const id = randomUUID();
  const b64_json = Buffer.from(Array.from({ length: 5_000_000 }, (_, n) => (n * 7919) % 256)).toString(
    'base64',
  );
  answer = (call) => finish(call, { created: 1, data: [{ b64_json }] });
  const ask: Ask = { path: '/v1/images/generations', body: { model: 'acme/painter', prompt: 'a cat' } };
  const original = await post(id, ask);
  const repeat = await post(id, { ...ask, edge: second });
  expect(original.bytes.length).toBeGreaterThan(6_000_000);
  expect(repeat.bytes.equals(original.bytes)).toBe(true);
  expect(repeat.headers).toEqual({
    ...original.headers,
    'content-length': String(original.bytes.length), // known for a repeat
    'idempotent-replayed': 'true',
  });
  expect(calls).toHaveLength(1);
});

test.each([
  ['service_unavailable', 503, 2],
  ['rate_limited', 429, 2],
  ['upstream_error', 502, 1],
  ['model_not_found', 404, 1],
] as const)('%s (%i): such requests run %i times when they are repeated', async (code, status, runs) => {
  const id = randomUUID();
  answer = () => {
    throw new ServiceError(code, 'as the test wants it');
  };
  const original = await post(id);
  expect(original).toMatchObject({ status, json: { error: { code } } });
  const repeat = await post(id);
  expect(repeat).toMatchObject({ status, json: { error: { code } } });
  expect(calls).toHaveLength(runs);
  expect(repeat.headers['idempotent-replayed']).toBe(runs === 1 ? 'true' : undefined);
});

test('a released key accepts another request', async () => {
  const id = randomUUID();
  answer = (call, n) => {
    if (n === 1) throw new ServiceError('service_unavailable', 'not now');
    finish(call, n);
  };
  expect(await post(id)).toMatchObject({ status: 503 });
  expect(await post(id, { body: { ...CHAT, model: 'acme/other' } })).toMatchObject({ status: 200, json: 2 });
});

test('a request that is refused for its content gets the same refusal on a repeat', async () => {
  const id = randomUUID();
  const original = await post(id, { body: { model: 'acme/any' } });
  expect(original).toMatchObject({ status: 400, json: { error: { param: 'messages' } } });
  const repeat = await post(id, { body: { model: 'acme/any' } });
  expect(repeat.bytes.equals(original.bytes)).toBe(true);
  expect(repeat.headers).toMatchObject({ 'idempotent-replayed': 'true' });
});

test('requests that the guard refuses do not use up their key', async () => {
  const id = randomUUID();
  expect(await post(id, { headers: { authorization: 'Bearer sy_unknown' } })).toMatchObject({ status: 401 });
  const powerless = await first.addKey(['usage:read']);
  expect(await post(id, { headers: { authorization: `Bearer ${powerless}` } })).toMatchObject({
    status: 403,
  });
  expect(await post(id)).toMatchObject({ status: 200, json: { n: 1 } });
});

test.each([
  ['/v1/files', false, 401],
  ['/v1/files', true, 400],
  ['/v1/audio/transcriptions', true, 400],
])('a form at %s with a part without a name is refused (with a key: %j)', async (path, hasKey, status) => {
  const rejected = vi.fn<(error: unknown) => void>();
  process.on('unhandledRejection', rejected);
  const disposition = 'Content-Disposition: form-data; filename="x"';
  const answered = await fetch(`${first.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'multipart/form-data; boundary=b',
      'idempotency-key': randomUUID(),
      ...(hasKey ? { authorization: `Bearer ${key}` } : {}),
    },
    body: `--b\r\n${disposition}\r\n\r\n1\r\n--b--\r\n`,
  });
  expect(await readAnswer(answered)).toMatchObject({ status });
  await new Promise(setImmediate); // unhandled rejections are reported at the end of a turn
  process.off('unhandledRejection', rejected);
  expect(rejected).not.toHaveBeenCalled();
});

const STREAM = { body: { ...CHAT, stream: true } };

function beginStream(call: IncomingCall): void {
  call.setHead({ status: 200, content_type: 'text/event-stream' });
  call.write(Buffer.from('data: {}\n\n'));
}

test('a stream runs once under its key: while it is open and after it ended, a repeat names it', async () => {
  const id = randomUUID();
  const open = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  answer = async (call) => {
    open.resolve();
    await mayEnd.promise;
    beginStream(call);
    call.end({ cost: '0.000001' }, Buffer.from('data: [DONE]\n\n'));
  };
  const asked = post(id, STREAM);
  await open.promise;
  const refused = () => ({
    status: 409,
    headers: { 'x-should-retry': 'false' },
    json: {
      error: {
        code: 'idempotency_conflict',
        message: expect.stringContaining(calls[0] ?? ''),
        details: { request_id: calls[0] },
      },
    },
  });
  for (const edge of [first, second]) expect(await post(id, { ...STREAM, edge })).toMatchObject(refused());
  mayEnd.resolve();
  const original = await asked;
  expect(original.status).toBe(200);
  expect(original.bytes.toString()).toBe('data: {}\n\ndata: [DONE]\n\n');
  for (const edge of [first, second]) expect(await post(id, { ...STREAM, edge })).toMatchObject(refused());
  expect(await post(id)).toMatchObject(refused()); // nor as a whole answer
  expect(calls).toHaveLength(1);
});

test('a stream under a key ends with its client', async () => {
  const id = randomUUID();
  const cancelled = Promise.withResolvers<void>();
  answer = (call) => {
    beginStream(call);
    call.signal.addEventListener('abort', () => cancelled.resolve());
    return cancelled.promise;
  };
  const gone = new AbortController();
  const answered = await fetch(`${first.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': id },
    body: JSON.stringify(STREAM.body),
    signal: gone.signal,
  });
  expect(answered.status).toBe(200);
  gone.abort();
  await cancelled.promise;
  expect(await post(id, STREAM)).toMatchObject({ status: 409 });
  expect(calls).toHaveLength(1);
});

test('a stream that is refused before it begins is kept, or leaves its key free, as any request', async () => {
  const id = randomUUID();
  answer = () => {
    throw new ServiceError('rate_limited', 'later');
  };
  expect(await post(id, STREAM)).toMatchObject({ status: 429 });
  answer = () => {
    throw new ServiceError('model_not_found', 'no such model');
  };
  expect(await post(id, STREAM)).toMatchObject({ status: 404 });
  expect(await post(id, STREAM)).toMatchObject({
    status: 404,
    headers: { 'idempotent-replayed': 'true' },
  });
  expect(calls).toHaveLength(2);
});

test.each([
  ['a'.repeat(IDEMPOTENCY_KEY_LENGTH_MAX), 200],
  ['a'.repeat(IDEMPOTENCY_KEY_LENGTH_MAX + 1), 400],
  ['', 400],
  ['with blanks', 400],
  ['schlüssel', 400],
  [`"quoted-${'x'.repeat(8)}~!"`, 200],
])('the key %j is answered with %i', async (idempotencyKey, status) => {
  const answered = await post(idempotencyKey);
  expect(answered.status).toBe(status);
  if (status === 400)
    expect(answered.json.error).toMatchObject({ code: 'invalid_request', param: 'Idempotency-Key' });
});

test('the header is ignored on requests without an answer to repeat', async () => {
  const get = () => fetch(`${first.url}/v1/openapi.json`, { headers: { 'idempotency-key': 'with blanks' } });
  expect((await get()).status).toBe(200);
  expect((await get()).headers.get('idempotent-replayed')).toBeNull();
});

/** As `fetch` sends it, with a new boundary each time. */
function form(audio: string, fields: Record<string, string> = { model: 'acme/ears' }): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  data.append('file', new File([audio], 'hello.wav', { type: 'audio/wav' }));
  return data;
}

async function send(idempotencyKey: string, data: FormData, edge: { url: string } = first) {
  const answered = await fetch(`${edge.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey },
    body: data,
  });
  return readAnswer(answered);
}

test('a multipart request with another boundary is the same request; another file or field is not', async () => {
  const id = randomUUID();
  const audio = 'RIFF'.repeat(100_000);
  const original = await send(id, form(audio));
  expect(original).toMatchObject({ status: 200, json: { n: 1 } });
  expect(await send(id, form(audio), second)).toMatchObject({
    json: { n: 1 },
    headers: { 'idempotent-replayed': 'true' },
  });
  const conflict = { status: 409, json: { error: { code: 'idempotency_conflict' } } };
  expect(await send(id, form(`${audio}!`))).toMatchObject(conflict);
  expect(await send(id, form(audio, { model: 'acme/ears', language: 'de' }))).toMatchObject(conflict);
  expect(calls).toHaveLength(1);
});

test('a repeat of a request without a body is recognized', async () => {
  let rotations = 0;
  const control = await serve(first.bus, { name: 'control', version: '0.0.1', description: 'of a test' });
  control.handle('signing-secret.rotate', async () => {
    rotations += 1;
    return { object: 'webhook_signing_secret', secret: `whsec_${rotations}` };
  });
  const rotate = async (idempotencyKey: string) => {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey };
    const path = '/v1/webhooks/signing_secret/rotate';
    return readAnswer(await fetch(`${first.url}${path}`, { method: 'POST', headers }));
  };
  const id = randomUUID();
  expect(await rotate(id)).toMatchObject({ status: 200, json: { secret: 'whsec_1' } });
  expect(await rotate(id)).toMatchObject({ status: 200, json: { secret: 'whsec_1' } });
  expect(await rotate(randomUUID())).toMatchObject({ status: 200, json: { secret: 'whsec_2' } });
});

test.each([
  ['webhooks.create', '/v1/webhooks', { url: 'https://example.com', events: ['*'] }],
  ['keys.create', '/v1/keys', { name: 'a key', permissions: ['models:write'] }],
  ['orgs.keys.create', `/v1/orgs/${DEFAULT_ORG}/keys`, { name: 'a key', permissions: ['models:write'] }],
] as const)(
  'a 503 of %s, whose work may have begun, is kept: a repeat does not run',
  async (name, path, body) => {
    let runs = 0;
    const control = await serve(first.bus, { name: 'control', version: '0.0.1', description: 'of a test' });
    control.handle(name, async () => {
      runs += 1;
      throw new ServiceError('service_unavailable', 'the answer is lost');
    });
    const id = randomUUID();
    const original = await post(id, { path, body });
    expect(original).toMatchObject({ status: 503, headers: { 'x-should-retry': 'false' } });
    const repeat = await post(id, { path, body });
    expect(repeat.headers).toEqual({ ...original.headers, 'idempotent-replayed': 'true' });
    expect(repeat.bytes.equals(original.bytes)).toBe(true);
    expect(runs).toBe(1);
  },
);

test('an incomplete body leaves its key free', async () => {
  const id = randomUUID();
  const socket = connect(first.port, '127.0.0.1').on('error', () => {});
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer ${key}\r\nIdempotency-Key: ${id}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"model":',
  );
  const bucket = await openBucket(first.bus, 'idempotency');
  const taken = async () => (await bucket.entries()).filter(({ value }) => value.state === 'running').length;
  await expect.poll(taken).toBe(1);
  socket.destroy();
  await expect.poll(taken).toBe(0);
  expect(await post(id)).toMatchObject({ status: 200, json: { n: 1 } });
});

test('a client that disconnects right after a complete request may repeat it', async () => {
  const body = JSON.stringify(CHAT);
  const ids = Array.from({ length: 10 }, () => randomUUID());
  for (const id of ids) {
    const socket = connect(first.port, '127.0.0.1').on('error', () => {});
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nIdempotency-Key: ${id}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head + body, () => socket.resetAndDestroy());
    await once(socket, 'close');
  }
  for (const id of ids) await expect.poll(() => post(id)).toMatchObject({ status: 200 });
});

test('a request whose answer was cut off is not run again: its outcome is unknown', async () => {
  const id = randomUUID();
  answer = (call) => {
    call.setHead({ status: 200, content_type: 'audio/mpeg', cost: '0.01' });
    call.write(Buffer.from('some'));
    throw new ServiceError('upstream_error', 'and then nothing');
  };
  const ask: Ask = {
    path: '/v1/audio/speech',
    body: { model: 'acme/voice', input: 'Hello!', voice: 'alloy' },
  };
  await expect(post(id, ask)).rejects.toThrow();
  expect(await post(id, ask)).toMatchObject(IN_USE);
  expect(calls).toHaveLength(1);
});

test('what was stored of an answer that was cut off is removed', async () => {
  const stored = async () => (await first.bus.jsm.streams.info('OBJ_idempotency')).state.messages;
  const before = await stored();
  answer = async (call) => {
    call.setHead({ status: 200, content_type: 'audio/mpeg', cost: '0.01' });
    call.write(Buffer.alloc(400 * 1024, 's'));
    await expect.poll(stored).toBeGreaterThan(before);
    throw new ServiceError('upstream_error', 'and then nothing');
  };
  const body = { model: 'acme/voice', input: 'Hello!', voice: 'alloy' };
  await expect(post(randomUUID(), { path: '/v1/audio/speech', body })).rejects.toThrow();
  await expect.poll(stored).toBe(before);
});

/** Suspends the org when `begun` resolves, and restores it when the request has ended. */
async function suspendDuring(begun: Promise<void>, asked: ReturnType<typeof post>) {
  const suspend = (suspended_at: string | null) =>
    first.orgs.change(DEFAULT_ORG, (known) => known && { ...known.value, suspended_at });
  await begun;
  await suspend(new Date().toISOString());
  const ended = await asked;
  await suspend(null);
  await expect.poll(async () => (await post(randomUUID(), { body: {} })).status).toBe(400);
  return ended;
}
const SUSPENDED = { status: 403, json: { error: { code: 'org_suspended' } } };

test.each([
  ['whole', CHAT],
  ['streamed', STREAM.body],
])('a %s call that ended with its key, and is charged, is not run again', async (_kind, body) => {
  const id = randomUUID();
  const begun = Promise.withResolvers<void>();
  answer = async (call) => {
    begun.resolve();
    await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
  };
  expect(await suspendDuring(begun.promise, post(id, { body }))).toMatchObject(SUSPENDED);
  answer = (call, n) => finish(call, { n });
  expect(await post(id, { body })).toMatchObject({
    status: 409,
    json: { error: { details: { request_id: calls[0] } } },
  });
  expect(calls).toHaveLength(1);
});

test('a command that ended with its key is not run again', async () => {
  const computer = await addComputer(first);
  const host = await serve(first.bus, { name: 'host', version: '0.0.1', description: 'of a test' });
  const begun = Promise.withResolvers<void>();
  let runs = 0;
  host.handleHost(computer.host, 'exec', async (_request, { signal }) => {
    runs += 1;
    begun.resolve();
    if (runs === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    throw new ServiceError('service_unavailable', 'cancelled');
  });
  const id = randomUUID();
  const command: Ask = { path: `/v1/computers/${computer.id}/exec`, body: { command: 'true' } };
  expect(await suspendDuring(begun.promise, post(id, command))).toMatchObject(SUSPENDED);
  expect(await post(id, command)).toMatchObject(IN_USE);
  expect(runs).toBe(1);
});
