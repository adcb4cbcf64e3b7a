// `Idempotency-Key` with all services: what is charged, and what an edge killed midway leaves behind.
import { randomUUID } from 'node:crypto';
import type { ErrorBody, LogEntry, UsageReport } from '@switchyard/contracts';
import {
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const SERVES_AGAIN_MS_MAX = 90_000;

let upstream: Upstream;
let stack: TestStack;

beforeAll(async () => {
  upstream = await startUpstream();
  const models = [
    chatModel('acme/thinks', upstream.url, 'thinks'),
    chatModel('acme/held', upstream.url, 'held'),
  ];
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  stack = await startStack({ env: { SWITCHYARD_CATALOG: catalog } });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

const chat = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hello!' }] });

async function post(idempotencyKey: string, path: string, body: unknown) {
  const answered = await fetch(stack.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stack.key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await answered.arrayBuffer());
  return { status: answered.status, headers: answered.headers, bytes };
}

async function get<T>(path: string): Promise<T> {
  const answered = await fetch(stack.url + path, { headers: { authorization: `Bearer ${stack.key}` } });
  return (await answered.json()) as T;
}

const codeOf = ({ bytes }: { bytes: Buffer }) => (JSON.parse(bytes.toString()) as ErrorBody).error.code;
const chargedCalls = async (model: string) =>
  (await get<{ data: LogEntry[] }>(`/v1/logs?model=${encodeURIComponent(model)}`)).data.filter(
    ({ cost }) => cost > 0,
  );

test('twenty requests at once under one key are one call and one charge', async () => {
  const key = randomUUID();
  const all = await Promise.all(
    Array.from({ length: 20 }, () => post(key, '/v1/chat/completions', chat('acme/thinks'))),
  );
  const answers = all.filter(({ status }) => status === 200);
  expect(answers.length).toBeGreaterThan(0);
  for (const refused of all.filter(({ status }) => status !== 200)) {
    expect(refused.status).toBe(409);
    expect(codeOf(refused)).toBe('idempotency_in_use');
  }
  const repeat = await post(key, '/v1/chat/completions', chat('acme/thinks'));
  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  for (const { bytes } of answers) expect(bytes.equals(repeat.bytes)).toBe(true);
  expect(upstream.requests.filter(({ model }) => model === 'thinks')).toHaveLength(1);
  await expect.poll(() => chargedCalls('acme/thinks')).toHaveLength(1);
  const usage = await get<UsageReport>('/v1/usage');
  expect(usage.total).toMatchObject({ calls: 1 });
});

test('pictures repeat byte for byte with their headers, charged once', async () => {
  const key = randomUUID();
  const body = { model: 'local/image', prompt: 'a red circle over the sea', size: '1024x1024', n: 4 };
  const original = await post(key, '/v1/images/generations', body);
  expect(original.status).toBe(200);
  const repeat = await post(key, '/v1/images/generations', body);
  expect(repeat.bytes.equals(original.bytes)).toBe(true);
  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  expect(repeat.headers.get('x-request-id')).toBe(original.headers.get('x-request-id'));
  expect(codeOf(await post(key, '/v1/images/generations', { ...body, n: 3 }))).toBe('idempotency_conflict');
  await expect.poll(() => chargedCalls('local/image')).toHaveLength(1);
});

test('a key is made once: a repeat shows the same one', async () => {
  const key = randomUUID();
  const body = { name: 'once', permissions: ['usage:read'] };
  const [original, repeat] = [await post(key, '/v1/keys', body), await post(key, '/v1/keys', body)];
  expect(original.status).toBe(201);
  expect(repeat.bytes.equals(original.bytes)).toBe(true);
});

test('a file is stored once, though uploaded twice with different boundaries', async () => {
  const upload = async (idempotencyKey: string) => {
    const body = new FormData();
    body.append('file', new File(['x'.repeat(300_000)], 'notes.txt', { type: 'text/plain' }));
    const headers = { authorization: `Bearer ${stack.key}`, 'idempotency-key': idempotencyKey };
    const answered = await fetch(`${stack.url}/v1/files`, { method: 'POST', headers, body });
    return { status: answered.status, file: await answered.json() };
  };
  const key = randomUUID();
  const original = await upload(key);
  expect(original).toMatchObject({ status: 201, file: { bytes: 300_000 } });
  expect(await upload(key)).toEqual(original);
  expect((await get<{ data: unknown[] }>('/v1/files')).data).toHaveLength(1);
});

test('an edge that is killed in the middle leaves a key that is never run again, and no charge', async () => {
  const key = randomUUID();
  upstream.on(
    'held',
    ({ gone }) => new Promise<void>((resolve) => gone.addEventListener('abort', () => resolve())),
  );
  const asked = post(key, '/v1/chat/completions', chat('acme/held')).catch(() => null);
  const id = String((await upstream.request('held')).headers['x-request-id']);
  const { back } = await stack.kill9('edge');
  expect(await asked).toBeNull();
  await back;
  for (let n = 0; n < 3; n++) {
    const repeat = await post(key, '/v1/chat/completions', chat('acme/held'));
    expect(repeat.status).toBe(409);
    expect(codeOf(repeat)).toBe('idempotency_in_use');
  }
  expect(upstream.requests.filter(({ model }) => model === 'held')).toHaveLength(1);
  await expect.poll(() => get(`/v1/logs/${id}`)).toMatchObject({ status: 'voided', cost: 0 });
  expect(await chargedCalls('acme/held')).toEqual([]);
});

test('while the store is down a request under a key is refused, has not run, and runs when it is back', async () => {
  const key = randomUUID();
  const before = upstream.requests.filter(({ model }) => model === 'thinks').length;
  const { back } = await stack.kill9('nats');
  const refused = await post(key, '/v1/chat/completions', chat('acme/thinks'));
  expect([200, 503]).toContain(refused.status); // 200: it was back before the edge gave up
  await back;
  const status = async () => (await post(key, '/v1/chat/completions', chat('acme/thinks'))).status;
  await expect.poll(status, { timeout: SERVES_AGAIN_MS_MAX }).toBe(200);
  expect(upstream.requests.filter(({ model }) => model === 'thinks')).toHaveLength(before + 1);
});
