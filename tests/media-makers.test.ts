// The makers of images, sound, embeddings, ranking and decisions, on the full stack: the shipped catalog's models and
// prices, with only the makers' addresses changed.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CatalogModel, catalogFile } from '@switchyard/contracts';
import { startStack, type TestStack } from '@switchyard/testing';
import { dump, load } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROUTER = join(import.meta.dirname, '../services/model-router');
/** Variables of the makers' keys; Voyage's is left unset. */
const KEYS = ['OPENAI', 'GOOGLE_GENERATIVE_AI', 'COHERE', 'ELEVENLABS', 'DEEPGRAM', 'BFL'].map(
  (name) => `${name}_API_KEY`,
);

interface Fixture {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  base64?: string;
}

/** The makers' answers, by the beginning of the path. */
const ANSWERS: [string, string, string][] = [
  ['/flux-pro-1.1', 'black-forest-labs', 'submitted'],
  ['/v1/get_result', 'black-forest-labs', 'ready'],
  ['/results/', 'black-forest-labs', 'image'],
  ['/models/gemini-2.5-flash-image', 'google', 'images'],
  ['/models/gemini-embedding-2', 'google', 'embedding'],
  ['/rerank', 'cohere', 'rerank'],
  ['/v1/text-to-speech/', 'elevenlabs', 'speech'],
  ['/v1/listen', 'deepgram', 'transcription'],
  ['/decisions', 'openai', 'decisions'],
  ['/embeddings', 'openai', 'embeddings'],
];

let maker: Server;
let folder: string;
let stack: TestStack;
const shipped: CatalogModel[] = [
  'openai',
  'google',
  'cohere',
  'voyage',
  'elevenlabs',
  'deepgram',
  'black-forest-labs',
].flatMap(
  (name) => catalogFile.parse(load(readFileSync(join(ROUTER, `catalog/${name}.yaml`), 'utf8'))).models,
);

beforeAll(async () => {
  maker = createServer((request, response) => {
    request.resume().on('end', () => {
      const [, name, file] = ANSWERS.find(([path]) => request.url?.startsWith(path)) ?? [
        '',
        'openai',
        'bad-key',
      ];
      const {
        status = 200,
        headers,
        json,
        base64,
      } = JSON.parse(
        readFileSync(join(ROUTER, `src/makers/${name}/__fixtures__/${file}.json`), 'utf8'),
      ) as Fixture;
      const body = base64
        ? Buffer.from(base64, 'base64')
        : JSON.stringify(json).replaceAll('{origin}', origin);
      response.writeHead(status, headers ?? { 'content-type': 'application/json' }).end(body);
    });
  });
  maker.listen(0, '127.0.0.1');
  await once(maker, 'listening');
  const origin = `http://127.0.0.1:${(maker.address() as AddressInfo).port}`;
  folder = await mkdtemp(join(tmpdir(), 'switchyard-makers-'));
  const moved = shipped.map((model) => ({
    ...model,
    upstreams: model.upstreams.map((upstream) => ({ ...upstream, base_url: origin })),
  }));
  await writeFile(join(folder, 'moved.yaml'), dump({ models: moved }));
  stack = await startStack({
    services: ['edge', 'control', 'model-router', 'billing'],
    env: {
      SWITCHYARD_CATALOG: join(folder, 'moved.yaml'),
      VOYAGE_API_KEY: '',
      ...Object.fromEntries(KEYS.map((name) => [name, 'a key of ours'])),
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  maker?.closeAllConnections();
  maker?.close();
  if (folder) await rm(folder, { recursive: true });
});

const authorization = () => ({ authorization: `Bearer ${stack.key}` });
const get = (path: string) => fetch(stack.url + path, { headers: authorization() });
const post = (path: string, body: object) =>
  fetch(stack.url + path, {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

interface Billed {
  model: string;
  usage: { cost: number };
}

const QUESTIONS = {
  refund: { type: 'boolean', instructions: 'Refund?' },
  team: { type: 'choice', instructions: 'Who?', choices: ['billing', 'support'] },
  anger: { type: 'score', instructions: 'How angry?', criteria: ['calm', 'annoyed', 'furious'] },
  secret: { type: 'boolean', instructions: 'A secret?' },
};

test.each([
  [
    'black-forest-labs/flux-pro-1.1',
    '/v1/images/generations',
    { prompt: 'a kitten', n: 2, size: '1024x768' },
    0.08,
  ],
  // 8 tokens in and 1,290 out.
  [
    'google/gemini-2.5-flash-image',
    '/v1/images/generations',
    { prompt: 'a kitten', aspect_ratio: '16:9' },
    0.0387024,
  ],
  ['google/gemini-embedding-2', '/v1/embeddings', { input: 'a text' }, 0.0000008],
  // Cohere counted two searches.
  [
    'cohere/rerank-v4.0-pro',
    '/v1/rerank',
    { query: 'q', documents: ['a', 'b', 'c', 'd', 'e'], top_n: 3 },
    0.005,
  ],
  [
    'openai/gpt-6-luna-decisions',
    '/v1/decisions',
    { state: 'Charged twice!', questions: QUESTIONS },
    0.000012,
  ],
])('%s answers under its own name, at its price', async (model, path, body, cost) => {
  const response = await post(path, { model, ...body });
  const answer = (await response.json()) as Billed;
  expect([response.status, answer]).toMatchObject([200, { model, usage: { cost } }]);
  expect(Number(response.headers.get('x-service-cost'))).toBe(cost);
});

test('elevenlabs/eleven_v3 speaks, in the format obtained, at a cost known before', async () => {
  const response = await post('/v1/audio/speech', { model: 'elevenlabs/eleven_v3', input: 'Hello' });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
  expect(response.headers.get('x-service-cost')).toBe('0.0004');
  expect((await response.arrayBuffer()).byteLength).toBe(64);
});

test('deepgram/nova-3 transcribes, charged by the file’s length, whatever Deepgram reports', async () => {
  const form = new FormData();
  form.set('model', 'deepgram/nova-3');
  form.set('response_format', 'verbose_json');
  form.set('file', new Blob([silence(6)], { type: 'audio/wav' }), 'six-seconds.wav');
  const url = `${stack.url}/v1/audio/transcriptions`;
  const response = await fetch(url, { method: 'POST', headers: authorization(), body: form });
  expect([response.status, await response.json()]).toMatchObject([
    200,
    {
      text: "Yeah. As as much as it's worth celebrating.",
      language: 'en',
      duration: 6,
      segments: [{ text: 'Yeah.' }, { text: 'As as much' }],
      usage: { seconds: 6, cost: 0.00043 },
    },
  ]);
});

test('token numbers, which one adapter cannot send, are sent by the next', async () => {
  const model = 'openai/text-embedding-3-small';
  const response = await post('/v1/embeddings', { model, input: [[1, 2], [3]] });
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { model, usage: { prompt_tokens: 8 } },
  ]);
});

test('a field that a maker cannot serve is refused, naming it', async () => {
  const response = await post('/v1/images/generations', {
    model: 'openai/gpt-image-2',
    prompt: 'x',
    seed: 7,
  });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'seed' } }]);
});

test.each([
  [
    '/v1/images/generations',
    { model: 'black-forest-labs/flux-pro-1.1', prompt: 'x' },
    { width: 1440 },
    'width',
  ],
  [
    '/v1/images/generations',
    { model: 'google/gemini-2.5-flash-image', prompt: 'x' },
    { model: 'dear' },
    'model',
  ],
  ['/v1/audio/speech', { model: 'elevenlabs/eleven_v3', input: 'x' }, { text: 'much longer' }, 'text'],
  ['/v1/embeddings', { model: 'google/gemini-embedding-2', input: 'x' }, { content: {} }, 'content'],
])(
  'provider_options that price the work are refused before a maker is called: %s %j',
  async (path, body, options, name) => {
    const response = await post(path, { ...body, provider_options: options });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_request', param: `provider_options.${name}` } },
    ]);
  },
);

test('every model of the list is found by its id; one without its key says which variable to set', async () => {
  const { data } = (await (await get('/v1/models')).json()) as { data: { id: string }[] };
  for (const listed of data) expect(await (await get(`/v1/models/${listed.id}`)).json()).toEqual(listed);
  expect(data.length).toBeGreaterThan(shipped.length);
  expect(data.find(({ id }) => id === 'voyage/voyage-4')).toMatchObject({
    available: false,
    unavailable_reason: 'set VOYAGE_API_KEY to use this model',
  });
});

/** A WAV of so many seconds, 8,000 samples of 16 bits each. */
function silence(seconds: number): Buffer<ArrayBuffer> {
  const rate = 8_000;
  const bytes = seconds * rate * 2;
  const wav = Buffer.alloc(44 + bytes);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + bytes, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(rate, 24);
  wav.writeUInt32LE(rate * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(bytes, 40);
  return wav;
}
