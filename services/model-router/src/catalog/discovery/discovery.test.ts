import { catalogModel, ServiceError } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { config } from '../../config.ts';
import { type Adapter, Catalog } from '../catalog.ts';
import { type ModelServers, startModelServers } from './__fixtures__/model-servers.ts';
import { ASK_TIMEOUT_MS } from './ask-server.ts';
import { configuredServers } from './configured-servers.ts';
import { ASK_AGAIN_AFTER_FAILURE_MS, ASK_AGAIN_MS, type Discovery, startDiscovery } from './discovery.ts';

let servers: ModelServers;
let discovery: Discovery | null = null;
let clock: FakeClock;
let warnings: string[];

beforeEach(async () => {
  warnings = [];
  servers = await startModelServers();
  clock = new FakeClock();
});
afterEach(async () => {
  discovery?.stop();
  discovery = null;
  await servers.close();
});

const adapter: Adapter = { types: ['language', 'embedding', 'rerank'] };

/** A catalog that follows the servers in these settings. */
async function follow(settings: Record<string, string>, catalog = emptyCatalog(settings)): Promise<Catalog> {
  const read = config.parse(settings);
  const logger = makeLogger('model-router', 'warn', { write: (line) => void warnings.push(line) });
  discovery = await startDiscovery({
    servers: configuredServers(read, { fetch, clock, logger }),
    catalog,
    clock,
    logger,
  });
  return catalog;
}

function emptyCatalog(settings: Record<string, string> = {}): Catalog {
  return new Catalog(new Map(), { 'openai-compatible': adapter }, { secret: (name) => settings[name] });
}

const idsOf = (catalog: Catalog) => catalog.list(0).map(({ id }) => id);
const find = (catalog: Catalog, id: string) => catalog.list(0).find((model) => model.id === id);

describe('Ollama', () => {
  test('its models are in the catalog, with type, context, abilities and a price of zero', async () => {
    const catalog = await follow({ SWITCHYARD_OLLAMA_URL: `${servers.url}/` });
    expect(idsOf(catalog)).toEqual([
      'ollama/codellama:13b',
      'ollama/llama3:latest',
      'ollama/nomic-embed-text:latest',
      'ollama/hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
    ]);
    expect(find(catalog, 'ollama/llama3:latest')).toMatchObject({
      type: 'language',
      owned_by: 'ollama',
      context_length: 8192,
      modalities: { input: ['text'], output: ['text'] },
      pricing: { input_token: '0', output_token: '0' },
      available: true,
    });
    expect(find(catalog, 'ollama/nomic-embed-text:latest')).toMatchObject({
      type: 'embedding',
      context_length: 2048,
      limits: { dimensions: 768 },
      pricing: { input_token: '0' },
    });
    const able = find(catalog, 'ollama/hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M');
    expect(able?.modalities.input).toEqual(['text', 'image']);
    expect(able?.supported_parameters).toEqual(expect.arrayContaining(['tools', 'reasoning_effort']));
    const [model] = catalog.resolve(['ollama/codellama:13b'], 'language');
    expect(model?.upstreams).toMatchObject([
      { adapter: 'openai-compatible', base_url: `${servers.url}/v1`, model: 'codellama:13b' },
    ]);
  });

  test('a model is queried once, and again only when its digest has changed', async () => {
    const catalog = await follow({ SWITCHYARD_OLLAMA_URL: servers.url });
    const cards = () => servers.asked.filter((one) => one.startsWith('POST /api/show'));
    expect(cards()).toHaveLength(5);
    servers.remove('llama3:latest');
    clock.advance(ASK_AGAIN_MS);
    await expect.poll(() => find(catalog, 'ollama/llama3:latest')?.available).toBe(false);
    expect(cards()).toHaveLength(5);
  });

  test.each([
    ['answers with an error', { status: 500, body: 'no' }],
    ['leads elsewhere', { status: 302, body: '', location: 'http://elsewhere.invalid/api/show' }],
  ])('a model whose card %s leaves the others available, and its own entry as it was', async (_, card) => {
    servers.breakCard('codellama:13b', card);
    const catalog = await follow({ SWITCHYARD_OLLAMA_URL: servers.url });
    expect(find(catalog, 'ollama/llama3:latest')?.available).toBe(true);
    expect(find(catalog, 'ollama/codellama:13b')).toBeUndefined();
    servers.repairCard('codellama:13b');
    servers.breakCard('llama3:latest', card);
    clock.advance(ASK_AGAIN_MS);
    await expect.poll(() => find(catalog, 'ollama/codellama:13b')?.available).toBe(true);
    expect(find(catalog, 'ollama/llama3:latest')?.available).toBe(true);
  });

  test('a model that stays broken is logged once', async () => {
    servers.breakCard('codellama:13b');
    servers.breakCard('llama3:latest');
    const catalog = await follow({ SWITCHYARD_OLLAMA_URL: servers.url });
    servers.repairCard('codellama:13b');
    clock.advance(ASK_AGAIN_MS);
    await expect.poll(() => find(catalog, 'ollama/codellama:13b')?.available).toBe(true);
    const logged = warnings.map((line) => JSON.parse(line)).filter(({ model }) => model === 'llama3:latest');
    expect(logged).toEqual([expect.objectContaining({ level: 'warn', failure: 'it answered 500' })]);
  });

  test('a removed model stays listed as unavailable, with the reason, until it is back', async () => {
    const catalog = await follow({ SWITCHYARD_OLLAMA_URL: servers.url });
    servers.remove('llama3:latest');
    clock.advance(ASK_AGAIN_MS);
    await expect.poll(() => find(catalog, 'ollama/llama3:latest')?.available).toBe(false);
    const gone = find(catalog, 'ollama/llama3:latest');
    expect(gone?.unavailable_reason).toBe(`ollama at ${servers.url} no longer has it`);
    const [model] = catalog.resolve(['ollama/llama3:latest'], 'language');
    expect(model && catalog.usableUpstreams(model)).toEqual([]);
    expect(find(catalog, 'ollama/codellama:13b')?.available).toBe(true);
  });

  test.each([
    ['answers with an error', { status: 500, body: 'no' }, 'it answered 500'],
    ['answers with something else', { status: 200, body: '<html>' }, 'its answer is not JSON'],
    [
      'answers in another shape',
      { status: 200, body: '{"models":[{}]}' },
      'its answer is not of the documented shape',
    ],
    [
      'sends it to another host',
      { status: 302, body: '', location: 'http://127.0.0.1:9/' },
      'the upstream redirects to another host (302)',
    ],
  ])('one that %s makes its models unavailable, and is asked again soon', async (_what, answer, why) => {
    const catalog = await follow({ SWITCHYARD_OLLAMA_URL: servers.url });
    servers.answerWith(answer);
    clock.advance(ASK_AGAIN_MS);
    await expect
      .poll(() => find(catalog, 'ollama/llama3:latest')?.unavailable_reason)
      .toBe(`ollama at ${servers.url} failed: ${why}`);
    servers.answerWith(null);
    await expect.poll(() => clock.waiting).toBe(1);
    clock.advance(ASK_AGAIN_AFTER_FAILURE_MS);
    await expect.poll(() => find(catalog, 'ollama/llama3:latest')?.available).toBe(true);
  });

  test('an unreachable server does not keep the router from starting', async () => {
    const { url } = servers;
    await servers.close();
    const catalog = await follow({ SWITCHYARD_OLLAMA_URL: url });
    expect(idsOf(catalog)).toEqual([]);
    expect(() => catalog.resolve(['ollama/llama3:latest'], 'language')).toThrow(ServiceError);
    servers = await startModelServers();
  });

  test('a server that never answers times out', async () => {
    const never: typeof fetch = (_url, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      });
    const catalog = emptyCatalog();
    const read = config.parse({ SWITCHYARD_OLLAMA_URL: servers.url });
    const [server] = configuredServers(read, {
      fetch: never,
      clock,
      logger: makeLogger('model-router', 'silent'),
    });
    const listed = server?.list(new AbortController().signal).catch((error: Error) => error.message);
    clock.advance(ASK_TIMEOUT_MS);
    expect(await listed).toBe(`no answer in ${ASK_TIMEOUT_MS} ms`);
    expect(idsOf(catalog)).toEqual([]);
  });
});

describe('vLLM', () => {
  test.each(['', '/v1', '/v1/'])('its models are in the catalog, its address ending in "%s"', async (end) => {
    const catalog = await follow({
      SWITCHYARD_VLLM_URL: servers.url + end,
      SWITCHYARD_VLLM_API_KEY: 'secret',
      SWITCHYARD_DISCOVERED_INPUT_TOKEN_PRICE: '0.0000001',
      SWITCHYARD_DISCOVERED_OUTPUT_TOKEN_PRICE: '0.0000002',
    });
    expect(find(catalog, 'vllm/Qwen/Qwen3-8B')).toMatchObject({
      type: 'language',
      context_length: 40960,
      pricing: { input_token: '0.0000001', output_token: '0.0000002' },
      available: true,
    });
    expect(idsOf(catalog)).toContain('vllm/sql-lora');
    expect(servers.authorization()).toBe('Bearer secret');
    const [model] = catalog.resolve(['vllm/Qwen/Qwen3-8B'], 'language');
    expect(model?.upstreams[0]).toMatchObject({
      base_url: `${servers.url}/v1`,
      api_key_env: 'SWITCHYARD_VLLM_API_KEY',
    });
  });

  test.each([
    ['embedding', 'SWITCHYARD_VLLM_EMBEDDING_URL'],
    ['rerank', 'SWITCHYARD_VLLM_RERANK_URL'],
  ])('the setting determines the type of its %s models', async (type, setting) => {
    const catalog = await follow({ [setting]: servers.url });
    expect(find(catalog, 'vllm/Qwen/Qwen3-8B')).toMatchObject({ type, pricing: { input_token: '0' } });
  });
});

test('a catalog file takes precedence over a server for the same model', async () => {
  const stated = catalogModel.parse({
    id: 'ollama/llama3:latest',
    type: 'language',
    name: 'Ours',
    modalities: { input: ['text'], output: ['text'] },
    pricing: { input_token: '0.001', output_token: '0.002' },
    upstreams: [{ adapter: 'openai-compatible', base_url: 'http://127.0.0.1:1/v1', model: 'x' }],
  });
  const catalog = new Catalog(
    new Map([[stated.id, stated]]),
    { 'openai-compatible': adapter },
    { secret: () => undefined },
  );
  await follow({ SWITCHYARD_OLLAMA_URL: servers.url }, catalog);
  expect(find(catalog, stated.id)).toMatchObject({ name: 'Ours', pricing: { input_token: '0.001' } });
  expect(idsOf(catalog).filter((id) => id === stated.id)).toHaveLength(1);
});

test('an invalid decimal price is refused at the start', () => {
  expect(() => config.parse({ SWITCHYARD_DISCOVERED_INPUT_TOKEN_PRICE: '1e-7' })).toThrow(/plain decimal/);
});
