import { type ServiceHost, serve } from '@switchyard/bus';
import type { ModelObject } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

const IDS = [
  'acme/chat-1',
  'ollama/llama3:latest',
  'ollama/hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
];
const UNAVAILABLE = 'acme/image-1';

let edge: TestEdge;
let router: ServiceHost;
let key: string;

beforeAll(async () => {
  edge = await startTestEdge();
  router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'a test' });
  router.handle('models.list', async () => ({
    data: [
      ...IDS.map(modelOf),
      { ...modelOf(UNAVAILABLE), type: 'image', available: false, unavailable_reason: 'set ACME_API_KEY' },
    ],
  }));
  key = await edge.addKey();
});
afterAll(async () => {
  await router?.drain();
  await edge?.stop();
});

function modelOf(id: string): ModelObject {
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: id.split('/')[0] ?? '',
    name: id,
    description: '',
    type: 'language',
    endpoint: 'POST /v1/chat/completions',
    modalities: { input: ['text'], output: ['text'] },
    context_length: null,
    pricing: { input_token: '0', output_token: '0' },
    limits: {},
    supported_parameters: [],
    available: true,
    unavailable_reason: null,
  };
}

const get = (path: string, method = 'GET', secret = key) =>
  fetch(edge.url + path, { method, headers: { authorization: `Bearer ${secret}` } });
const listed = async (query: string, secret = key) => {
  const { data } = (await (await get(`/v1/models${query}`, 'GET', secret)).json()) as { data: ModelObject[] };
  return data.map(({ id }) => id);
};

test.each(IDS)(
  '%s is found by its plain id, fully encoded, and encoded except for its first slash',
  async (id) => {
    const [maker = '', ...name] = id.split('/');
    const ways = [id, encodeURIComponent(id), `${maker}/${encodeURIComponent(name.join('/'))}`];
    for (const way of ways) {
      const response = await get(`/v1/models/${way}`);
      expect(response.status, way).toBe(200);
      expect(((await response.json()) as ModelObject).id, way).toBe(id);
    }
  },
);

test.each(['acme/none', 'acme/chat-1/more', 'ollama/hf.co/bartowski', 'acme/'])(
  'the unknown model %s is 404 with its code',
  async (id) => {
    const response = await get(`/v1/models/${id}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'model_not_found' } });
  },
);

test('a model’s name without its maker is 404 and says which model is meant', async () => {
  const response = await get('/v1/models/chat-1');
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({
    error: {
      code: 'model_not_found',
      message: 'No model is called chat-1. Did you mean acme/chat-1? GET /v1/models lists all models.',
    },
  });
});

test('another method under an id with slashes is 405 with the allowed methods', async () => {
  const response = await get(`/v1/models/${IDS[2]}`, 'DELETE');
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('GET, HEAD');
});

test.each([
  ['', [...IDS, UNAVAILABLE]],
  ['?type=image', [UNAVAILABLE]],
  ['?maker=acme', [IDS[0], UNAVAILABLE]],
  ['?available=true&maker=acme', [IDS[0]]],
  ['?available=false', [UNAVAILABLE]],
  ['?maker=none', []],
  ['?maker=ollama&limit=1', [IDS[1]]],
  [`?maker=ollama&after=${IDS[1]}`, [IDS[2]]],
  ['?what_other_clients_send=1', [...IDS, UNAVAILABLE]],
])('the list %s has exactly the models asked for', async (query, ids) => {
  expect(await listed(query)).toEqual(ids);
});

test.each(['type', 'available'])('an unknown value of %s is refused, naming it', async (param) => {
  const response = await get(`/v1/models?${param}=unknown`);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'invalid_request', param } });
});

test('a key with a list of models sees only those', async () => {
  const limited = await edge.addKey([], { models: ['acme/chat-1', 'ollama/*'] });
  expect(await listed('', limited)).toEqual(IDS);
  expect(await listed('?maker=acme', limited)).toEqual([IDS[0]]);
  expect((await get(`/v1/models/${IDS[0]}`, 'GET', limited)).status).toBe(200);
  const refused = await get(`/v1/models/${UNAVAILABLE}`, 'GET', limited);
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ error: { code: 'model_not_allowed' } });
});
