// Makers' API keys that an operator sets: calls use them without a restart, they are encrypted at rest, and a wrong
// secret loses none of them.
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBus } from '@switchyard/bus';
import type { ProviderObject } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import {
  type CatalogEntry,
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  temporaryFolder,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawMessages } from './__fixtures__/raw-messages.ts';

const FIXTURES = join(import.meta.dirname, '../services/model-router/src/makers/anthropic/__fixtures__');
const OF_ENVIRONMENT = 'key-of-the-environment-0001';
/** The stack is started twice. */
const TEST_MS_MAX = 600_000;

let upstream: Upstream;
let dataFolder: string;
let catalog: string;
let stack: TestStack;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.on('claude', (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(fixture('chat-text'));
  });
  // The status check of a video is the only request without a model.
  upstream.on('', (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"id": "job", "status": "failed", "error": "no video today"}');
  });
  upstream.on('film', (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"id": "job", "status": "queued"}');
  });
  const keyed = { api_key_env: 'ACME_API_KEY' };
  const film: CatalogEntry = {
    ...chatModel('acme/film', upstream.url, 'film'),
    type: 'video',
    modalities: { input: ['text'], output: ['video'] },
    pricing: { second: { '480p': '0.01' } },
    upstreams: [{ adapter: 'openai-compatible', base_url: upstream.url, model: 'film', ...keyed }],
  };
  const models = [
    chatModel('acme/chat', upstream.url, 'chat', keyed),
    chatModel('acme/claude', upstream.url, 'claude', { adapter: 'anthropic' }),
    film,
  ];
  catalog = await writeTestCatalog({ url: upstream.url, models });
  dataFolder = await temporaryFolder('providers');
  stack = await start();
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
  await rm(dataFolder, { recursive: true, force: true });
});

function start(env: Record<string, string> = {}): Promise<TestStack> {
  return startStack({
    dataFolder,
    env: { SWITCHYARD_CATALOG: catalog, ACME_API_KEY: OF_ENVIRONMENT, ANTHROPIC_API_KEY: '', ...env },
  });
}

function fixture(name: string): string {
  const { json } = JSON.parse(readFileSync(join(FIXTURES, `${name}.json`), 'utf8')) as { json: unknown };
  return JSON.stringify(json);
}

async function api<T = { error: { code: string; message: string } }>(
  method: string,
  path: string,
  body?: object,
  key = stack.key,
): Promise<{ status: number; json: T }> {
  const response = await fetch(`${stack.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as T };
}

const setKey = (maker: string, api_key: string) =>
  api<ProviderObject>('PUT', `/providers/${maker}`, { api_key });

async function provider(id: string): Promise<ProviderObject | undefined> {
  const { json } = await api<{ data: ProviderObject[] }>('GET', '/providers');
  return json.data.find((one) => one.id === id);
}

const chat = (model: string) =>
  api('POST', '/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] });

/** The key that the upstream got with the latest request for a model. */
function keySeen(model: string): string | undefined {
  const { headers } = upstream.requests.findLast((request) => request.model === model) ?? {};
  return headers?.['x-api-key']?.toString() ?? headers?.authorization?.slice('Bearer '.length);
}

/** Calls until the upstream gets this key: routers follow the bucket. */
async function expectCallsWith(key: string): Promise<void> {
  const seen = async () => {
    await chat('acme/chat');
    return keySeen('chat');
  };
  await expect.poll(seen).toBe(key);
}

test('a key that is set replaces that of the environment without a restart; its removal brings that one back', async () => {
  expect(await provider('acme')).toMatchObject({
    env: 'ACME_API_KEY',
    has_key: true,
    source: 'environment',
    last4: '0001',
    updated_at: null,
  });
  await expectCallsWith(OF_ENVIRONMENT);
  const set = await setKey('acme', 'key-set-by-the-api-0002');
  expect(set).toMatchObject({ status: 200, json: { id: 'acme', source: 'api', last4: '0002' } });
  expect(await provider('acme')).toEqual(set.json);
  await expectCallsWith('key-set-by-the-api-0002');
  expect((await api('DELETE', '/providers/acme')).json).toEqual({
    id: 'acme',
    object: 'provider',
    deleted: true,
  });
  await expectCallsWith(OF_ENVIRONMENT);
  expect(await provider('acme')).toMatchObject({ source: 'environment', updated_at: null });
});

test('a maker without a key in the environment serves once one is set, and not after its removal', async () => {
  expect(await provider('anthropic')).toMatchObject({ has_key: false, source: null, last4: null });
  expect(await chat('acme/claude')).toMatchObject({
    status: 503,
    json: { error: { code: 'model_unavailable' } },
  });
  await setKey('anthropic', 'sk-ant-set-by-the-api');
  const status = async () => (await chat('acme/claude')).status;
  await expect.poll(status).toBe(200);
  expect(keySeen('claude')).toBe('sk-ant-set-by-the-api');
  await api('DELETE', '/providers/anthropic');
  await expect.poll(status).toBe(503);
});

test('the video-worker uses it too', async () => {
  await setKey('acme', 'key-for-the-videos-0003');
  const seen = async () => {
    const made = await api('POST', '/videos/generations', {
      model: 'acme/film',
      prompt: 'rain',
      duration: 1,
    });
    expect(made.status).toBe(202);
    return (await upstream.request('film')).headers.authorization;
  };
  await expect.poll(seen).toBe('Bearer key-for-the-videos-0003');
});

test('no answer shows a key, and none of a short one', async () => {
  const set = await setKey('acme', 'key-that-no-answer-shows-0004');
  const listed = await api('GET', '/providers');
  expect(JSON.stringify([set, listed])).not.toContain('that-no-answer-shows');
  expect((await setKey('acme', 'short-key')).json).toMatchObject({ has_key: true, last4: null });
});

test('a wrong key or maker is refused by name, without what was sent', async () => {
  for (const api_key of [
    'tiny',
    'with a space in it',
    `long${'x'.repeat(2_000)}`,
    'with-a-line\nbreak',
    770770770770,
  ]) {
    const refused = await api('PUT', '/providers/acme', { api_key });
    expect(refused).toMatchObject({ status: 400, json: { error: { param: 'api_key' } } });
    expect(JSON.stringify(refused.json)).not.toContain(String(api_key));
  }
  for (const [method, body] of [['PUT', { api_key: 'key-of-no-maker' }], ['DELETE']] as const)
    expect(await api(method, '/providers/no-maker', body)).toMatchObject({
      status: 404,
      json: { error: { code: 'provider_not_found', param: 'maker' } },
    });
});

test('only an operator lists, sets and removes', async () => {
  const permissions = ['models:write', 'keys:write', 'usage:read', 'storage:write', 'computers:write'];
  const { json } = await api<{ key: string }>('POST', '/keys', { name: 'all but operator', permissions });
  const attempts = [
    api('GET', '/providers', undefined, json.key),
    api('PUT', '/providers/acme', { api_key: 'key-of-a-stranger' }, json.key),
    api('DELETE', '/providers/acme', undefined, json.key),
  ];
  for (const refused of await Promise.all(attempts))
    expect(refused).toMatchObject({ status: 403, json: { error: { code: 'permission_denied' } } });
});

test('the raw bytes of the bucket do not hold the key, nor its last characters', async () => {
  await setKey('acme', 'key-that-is-not-in-the-bytes-WXYZ');
  const bus = await connectBus({ url: stack.natsUrl, service: 'test', logger: makeLogger('test', 'silent') });
  const bytes = await rawMessages(bus, 'KV_provider-keys');
  await bus.close();
  expect(bytes).toContain('"sealed"');
  expect(bytes).not.toContain('not-in-the-bytes');
  expect(bytes).not.toContain('WXYZ');
});

test('killed services use the key again when they are back', async () => {
  await setKey('acme', 'key-that-survives-0005');
  const killed = await Promise.all(['control', 'model-router', 'nats'].map((name) => stack.kill9(name)));
  await Promise.all(killed.map(({ back }) => back));
  await expectCallsWith('key-that-survives-0005');
});

test(
  'a wrong secret refuses to store, sends no other key, and loses nothing',
  async () => {
    await setKey('acme', 'key-under-the-first-secret-0006');
    await stack.stop();
    stack = await start({ SWITCHYARD_PROVIDERS_SECRET: 'another secret of 32 characters or more' });
    const calls = upstream.requests.length;
    expect(await chat('acme/chat')).toMatchObject({
      status: 503,
      json: {
        error: {
          code: 'model_unavailable',
          message: expect.stringContaining('another SWITCHYARD_PROVIDERS_SECRET'),
        },
      },
    });
    expect(upstream.requests).toHaveLength(calls);
    for (const maker of ['acme', 'anthropic'])
      expect(await setKey(maker, 'key-under-the-wrong-secret')).toMatchObject({
        status: 503,
        json: { error: { code: 'provider_keys_locked' } },
      });
    expect(await provider('acme')).toMatchObject({
      has_key: false,
      source: 'api',
      last4: null,
      unusable_reason: expect.stringContaining('another SWITCHYARD_PROVIDERS_SECRET'),
    });
    await stack.stop();
    stack = await start();
    expect(await provider('acme')).toMatchObject({ has_key: true, last4: '0006', unusable_reason: null });
    await expectCallsWith('key-under-the-first-secret-0006');
  },
  TEST_MS_MAX,
);

test('with its secret lost, removed keys can be set again', async () => {
  await stack.stop();
  stack = await start({ SWITCHYARD_PROVIDERS_SECRET: 'a new secret, of 32 characters or more' });
  expect((await api('DELETE', '/providers/acme')).status).toBe(200);
  expect((await setKey('acme', 'key-under-the-new-secret-0007')).status).toBe(200);
  await expectCallsWith('key-under-the-new-secret-0007');
});
