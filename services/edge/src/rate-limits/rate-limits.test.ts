// Limits over three edges as their callers meet them: statuses, headers, and whom a limit counts. Uses a real
// nats-server; the clock stands still unless a test moves it.
import { once } from 'node:events';
import { connect } from 'node:net';
import { type IncomingCall, serve } from '@switchyard/bus';
import {
  type ErrorBody,
  type KeyRecord,
  modelCallSubject,
  NO_RATE_LIMITS,
  newKeyId,
  newVideoId,
  type RateLimits,
  ServiceError,
  VIDEO_CREATE_SUBJECT,
  type VideoView,
} from '@switchyard/contracts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

const CHAT = { model: 'acme/any', messages: [{ role: 'user', content: 'Hello!' }] };

const VIDEO = {
  ...{ id: newVideoId(0), object: 'video', status: 'pending', model: 'acme/film', duration: 4 },
  ...{ resolution: 'auto', created_at: new Date(0).toISOString(), usage: { seconds: 4, cost: 0.1 } },
  media_type: null,
} satisfies VideoView;

let edge: TestEdge;
let urls: string[];
/** What the model does with a call. */
let answer: (call: IncomingCall) => void;

beforeAll(async () => {
  edge = await startTestEdge();
  urls = [edge.url, await edge.another(), await edge.another()];
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.stream(modelCallSubject('language'), (call) => answer(call));
  const videos = await serve(edge.bus, { name: 'video-worker', version: '0.0.1', description: 'of a test' });
  videos.stream(VIDEO_CREATE_SUBJECT, (call) => {
    call.setHead({});
    call.end({}, Buffer.from(JSON.stringify(VIDEO)));
  });
});
afterAll(() => edge?.stop());
beforeEach(() => {
  answer = (call) => respond(call, 0);
});

function respond(call: IncomingCall, tokens: number): void {
  call.setHead({ status: 200, content_type: 'application/json' });
  call.end({ cost: '0', tokens }, Buffer.from('{}'));
}

const limited = (limits: Partial<RateLimits>, more: Partial<KeyRecord> = {}) =>
  edge.addKey(undefined, { limits: { ...NO_RATE_LIMITS, ...limits }, ...more });
const urlOf = (i: number) => urls[i % urls.length] ?? edge.url;
/** A request that ends in the edge, with 400. */
const ask = (key: string, i = 0) =>
  fetch(`${urlOf(i)}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{',
  });
const chat = (
  key: string,
  i = 0,
  more: object = {},
  headers: Record<string, string> = {},
  signal: AbortSignal | null = null,
) =>
  fetch(`${urlOf(i)}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...CHAT, ...more }),
    signal,
  });
const bodyOf = async (response: Response) => (await response.json()) as ErrorBody;
const limitHeadersOf = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit') || name === 'retry-after'));

test('a flood over three edges is admitted up to the limit, within 10 %', async () => {
  const limit = 60;
  const key = await limited({ requests_per_minute: limit });
  const answers = await Promise.all(Array.from({ length: 5 * limit }, (_, i) => ask(key, i)));
  const statuses = answers.map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([400, 429]));
  const admitted = statuses.filter((status) => status === 400).length;
  expect(admitted).toBeGreaterThanOrEqual(0.9 * limit);
  expect(admitted).toBeLessThanOrEqual(1.1 * limit);
});

test('an answer says what is left, and a refused one when to come back', async () => {
  const key = await limited({ requests_per_minute: 2 });
  expect(limitHeadersOf(await ask(key, 0))).toEqual({
    'ratelimit-policy': '"requests";q=2;w=60',
    ratelimit: '"requests";r=1;t=61',
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': '61s',
  });
  await ask(key, 1);
  const refused = await ask(key, 2);
  expect(refused.status).toBe(429);
  expect(limitHeadersOf(refused)).toMatchObject({
    ratelimit: '"requests";r=0;t=61',
    'x-ratelimit-remaining-requests': '0',
    'retry-after': '61',
  });
  expect(refused.headers.get('x-should-retry')).toBe('true');
  expect((await bodyOf(refused)).error).toMatchObject({
    code: 'rate_limited',
    type: 'rate_limit_error',
    message: 'The key is at its limit of 2 requests per minute. Retry after 61 s.',
    details: { limit: 'requests_per_minute', of: 'key', max: 2 },
  });
});

test('an answer to a key without limits says nothing of limits', async () => {
  expect(limitHeadersOf(await ask(await edge.addKey()))).toEqual({});
});

test('requests of keys below a limited key count in its limit', async () => {
  const id = newKeyId({ id: '' });
  const maker = await limited({ requests_per_minute: 3 }, { id });
  const child = await limited(
    { requests_per_minute: 3 },
    { id: newKeyId({ id, limits: { ...NO_RATE_LIMITS, requests_per_minute: 3 } }) },
  );
  const statuses = [];
  for (const [i, key] of [maker, child, child, maker].entries()) statuses.push((await ask(key, i)).status);
  expect(statuses).toEqual([400, 400, 400, 429]);
});

test('the limit of an org counts all of its keys, and a change of it holds at once', async () => {
  const org = 'org_limited';
  const keys = [await edge.addKey(undefined, { org }), await edge.addKey(undefined, { org })] as const;
  const { value: record } = (await edge.orgs.get(org))!;
  await edge.orgs.put(org, { ...record, limits: { ...NO_RATE_LIMITS, requests_per_minute: 1 } });
  await expect.poll(async () => (await ask(keys[0], 0)).status).toBe(429);
  const detailsOf = async (response: Response) => (await bodyOf(response)).error.details;
  await expect.poll(async () => detailsOf(await ask(keys[1], 1))).toMatchObject({ of: 'org', max: 1 });
  await edge.orgs.put(org, record);
  await expect.poll(async () => (await ask(keys[1], 2)).status).toBe(400);
});

test('calls at the same time are limited over three edges; one that ends makes room', async () => {
  const key = await limited({ concurrent_calls: 2 });
  const open: IncomingCall[] = [];
  answer = (call) => void open.push(call);
  const running = [chat(key, 0), chat(key, 1)];
  await expect.poll(() => open.length).toBe(2);
  const refused = await chat(key, 2);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect((await bodyOf(refused)).error.details).toMatchObject({ limit: 'concurrent_calls' });
  for (const call of open) respond(call, 0);
  await Promise.all(running);
  answer = (call) => respond(call, 0);
  await expect.poll(async () => (await chat(key, 2)).status).toBe(200);
});

test('a call that outlives its client under an Idempotency-Key counts until its end', async () => {
  const key = await limited({ concurrent_calls: 1 });
  const open: IncomingCall[] = [];
  answer = (call) => void open.push(call);
  const client = new AbortController();
  const left = chat(key, 0, {}, { 'idempotency-key': 'outlives' }, client.signal);
  await expect.poll(() => open.length).toBe(1);
  client.abort();
  await expect(left).rejects.toThrow();
  expect((await chat(key, 1)).status).toBe(429);
  for (const call of open) respond(call, 0);
  answer = (call) => respond(call, 0);
  await expect.poll(async () => (await chat(key, 1)).status).toBe(200);
});

test('pipelined calls that outlive their client under an Idempotency-Key count until their ends', async () => {
  const key = await limited({ concurrent_calls: 2 });
  const open: IncomingCall[] = [];
  answer = (call) => void (open.length < 2 ? open.push(call) : respond(call, 0));
  const body = JSON.stringify(CHAT);
  const socket = connect(edge.port, '127.0.0.1').resume();
  for (const name of ['first', 'second'])
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nidempotency-key: ${name}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  await expect.poll(() => open.length).toBe(2);
  socket.end();
  await once(socket, 'close'); // the edge closes its side once it has read the end of the other
  expect((await chat(key)).status).toBe(429);
  for (const call of open) respond(call, 0);
  await expect.poll(async () => (await chat(key)).status).toBe(200);
});

test('tokens are taken as estimated, and replaced by what the call used', async () => {
  const key = await limited({ tokens_per_minute: 1_000 });
  const open: IncomingCall[] = [];
  answer = (call) => void open.push(call);
  const running = chat(key, 0, { max_tokens: 900 });
  await expect.poll(() => open.length).toBe(1);
  const refused = await chat(key, 1, { max_tokens: 900 });
  expect((await bodyOf(refused)).error.details).toMatchObject({ limit: 'tokens_per_minute', max: 1_000 });
  for (const call of open) respond(call, 40);
  expect(limitHeadersOf(await running)['ratelimit-policy']).toBe('"tokens";q=1000;w=60');
  answer = (call) => respond(call, 960);
  await expect.poll(async () => (await chat(key, 2, { max_tokens: 900 })).status).toBe(200);
  const left = async () => (await ask(key, 0)).headers.get('x-ratelimit-remaining-tokens');
  await expect.poll(left).toBe('0');
});

test('the output that a call asks for is its own member, not one of the same name deeper in its body', async () => {
  const key = await limited({ tokens_per_minute: 1_000 });
  const open: IncomingCall[] = [];
  answer = (call) => void (open.length < 1 ? open.push(call) : respond(call, 0));
  const tools = [{ type: 'function', function: { name: 'f', parameters: { max_tokens: 1 } } }];
  const running = chat(key, 0, { max_tokens: 900, tools });
  await expect.poll(() => open.length).toBe(1);
  expect((await chat(key, 0, { max_tokens: 900 })).status).toBe(429);
  for (const call of open) respond(call, 0);
  expect((await running).status).toBe(200);
});

test('a call that fails uses no tokens, and an estimate above the limit takes all of it', async () => {
  const key = await limited({ tokens_per_minute: 500 });
  const left = async () => (await ask(key, 1)).headers.get('x-ratelimit-remaining-tokens');
  answer = (call) => call.fail(new Error('broken'));
  expect((await chat(key, 0, { max_tokens: 100_000 })).status).toBe(500);
  await expect.poll(left).toBe('500');
});

test('a stream that fails and a video use no tokens', async () => {
  const key = await limited({ tokens_per_minute: 500 });
  const left = async () => (await ask(key, 1)).headers.get('x-ratelimit-remaining-tokens');
  answer = (call) => {
    call.setHead({ status: 200, content_type: 'text/event-stream' });
    call.write(Buffer.from(': begun\n\n'));
    call.fail(new ServiceError('upstream_error', 'Gone.', { logged: true }));
  };
  const stream = await chat(key, 0, { max_tokens: 400, stream: true });
  expect([stream.status, await stream.text()]).toEqual([200, expect.stringContaining('upstream_error')]);
  await expect.poll(left).toBe('500');
  const video = await fetch(`${edge.url}/v1/videos/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/film', prompt: 'a cat', duration: 4 }),
  });
  expect([video.status, await video.text()]).toEqual([202, expect.any(String)]);
  await expect.poll(left).toBe('500');
});

test('a kept answer is repeated with the limits of the moment', async () => {
  const key = await limited({ requests_per_minute: 5 });
  const repeat = { 'idempotency-key': 'same' };
  const first = await chat(key, 0, {}, repeat);
  const second = await chat(key, 1, {}, repeat);
  expect([first, second].map((one) => one.headers.get('x-ratelimit-remaining-requests'))).toEqual(['4', '3']);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
});
