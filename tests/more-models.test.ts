// Images, speech, decisions and reranking on the full stack, with answers as their makers document them.
import { spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { MODEL_TYPES, type ModelType } from '@switchyard/contracts';
import {
  startStack,
  startUpstream,
  type TestStack,
  testModels,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let upstream: Upstream;
let stack: TestStack;

const FIRST_SOUND = Buffer.alloc(10_000, 1);
const REST_OF_SOUND = Buffer.alloc(10_000, 2);
const upstreamMayGoOn = new EventEmitter();

/** One pixel, as PNG. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

beforeAll(async () => {
  upstream = await startUpstream();
  const image = (id: string, more: object) => ({
    ...testModels(upstream.url).find((model) => model.id === 'acme/image-1'),
    id,
    ...more,
  });
  const speech = (id: string, model: string, limits: object) => ({
    ...testModels(upstream.url).find((one) => one.id === 'acme/speech-1'),
    id,
    limits,
    upstreams: [{ adapter: 'openai-compatible', base_url: upstream.url, model }],
  });
  const models = [
    image('acme/image-ratio', { limits: { aspect_ratios: ['1:1', '16:9'] } }),
    image('acme/image-sizes', { limits: { sizes: ['1024x1024'], images_max: 2 } }),
    speech('acme/speech-limits', 'tts-1', { voices: ['alloy'], formats: ['mp3'], characters_max: 5 }),
    speech('acme/speech-silent', 'tts-silent', {}),
    image('acme/image-tokens', { pricing: { input_token: '0.000005', output_token: '0.00004' } }),
  ] as ReturnType<typeof testModels>;
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  // https://platform.openai.com/docs/api-reference/images/create
  upstream.on('image-1', ({ json }, response) => {
    const n = typeof json?.n === 'number' ? json.n : 1;
    const data = Array.from({ length: n }, () => ({ b64_json: PIXEL }));
    const usage = {
      total_tokens: 100,
      input_tokens: 50,
      output_tokens: 50,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
    };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ created: 1713833628, data, usage }));
  });
  // https://docs.cohere.com/v2/reference/rerank
  upstream.on('rerank-1', ({ json }, response) => {
    const { length } = (json?.documents ?? []) as string[];
    const results = [
      { index: 3, relevance_score: 0.999071 },
      { index: 0, relevance_score: 0.32713068 },
    ]
      .filter(({ index }) => index < length)
      .slice(0, Number(json?.top_n ?? 2));
    const meta = { api_version: { version: '2', is_experimental: false }, billed_units: { search_units: 2 } };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ results, id: '07734bd2', meta }));
  });
  upstream.on('decide-1', ({ json }, response) => {
    const answers = Object.fromEntries(
      Object.keys(json?.questions as object).map((name) => [name, { type: 'boolean', probability: 0.75 }]),
    );
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ answers, usage: { inputTokens: 40, outputTokens: 3 } }));
  });
  // https://platform.openai.com/docs/api-reference/audio/createSpeech
  upstream.on('tts-1', async ({ json, gone }, response) => {
    const opus = json?.response_format === 'opus';
    response.writeHead(200, { 'content-type': opus ? 'audio/ogg' : 'audio/mpeg' });
    response.write(FIRST_SOUND);
    if (json?.voice === 'slow' || json?.voice === 'hoarse')
      await once(upstreamMayGoOn, 'go', { signal: gone });
    if (json?.voice === 'hoarse') return void response.destroy();
    response.end(REST_OF_SOUND);
  });
  upstream.on(
    'tts-silent',
    (_request, response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(),
  );
  stack = await startStack({ env: { SWITCHYARD_CATALOG: catalog } });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

async function post(
  path: string,
  body: object,
): Promise<{ status: number; headers: Headers; json: Record<string, unknown> }> {
  const response = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  };
}

describe('images', () => {
  test('come back as base64, each charged; provider_options and unknown fields reach the maker unchanged', async () => {
    const options = { acme: { style: { strength: 0.5, tags: ['a', 'b'] } } };
    const { status, headers, json } = await post('/v1/images/generations', {
      model: 'acme/image-1',
      prompt: 'a cat',
      n: 3,
      size: '512x512',
      seed: 7,
      quality: 'high',
      provider_options: options,
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      created: 1713833628,
      model: 'acme/image-1',
      data: [{ b64_json: PIXEL }, { b64_json: PIXEL }, { b64_json: PIXEL }],
      usage: { images: 3, input_tokens: 50, output_tokens: 50, cost: 0.12 },
    });
    expect(headers.get('x-service-cost')).toBe('0.12');
    const sent = await upstream.request('image-1');
    expect(sent.path).toBe('/v1/images/generations');
    expect(sent.json).toEqual({
      model: 'image-1',
      prompt: 'a cat',
      n: 3,
      size: '512x512',
      seed: 7,
      quality: 'high',
      provider_options: options,
    });
  });

  test('of a model that is priced by tokens cost their tokens', async () => {
    const { json } = await post('/v1/images/generations', { model: 'acme/image-tokens', prompt: 'a cat' });
    expect(json.usage).toEqual({
      images: 1,
      input_tokens: 50,
      output_tokens: 50,
      cost: 0.00225,
    });
  });

  test.each([
    ['a size for a model of aspect ratios', { model: 'acme/image-ratio', size: '512x512' }, 'size'],
    [
      'size and aspect ratio at once',
      { model: 'acme/image-1', size: '512x512', aspect_ratio: '1:1' },
      'size',
    ],
    ['a size that the model does not have', { model: 'acme/image-sizes', size: '512x512' }, 'size'],
    [
      'a ratio that the model does not have',
      { model: 'acme/image-ratio', aspect_ratio: '2:3' },
      'aspect_ratio',
    ],
    ['more than the model makes', { model: 'acme/image-sizes', n: 3 }, 'n'],
    ['more than anyone may ask for', { model: 'acme/image-1', n: 11 }, 'n'],
    ['a size of another form', { model: 'acme/image-1', size: 'large' }, 'size'],
    ['addresses instead of base64', { model: 'acme/image-1', response_format: 'url' }, 'response_format'],
    ['no prompt', { model: 'acme/image-1', prompt: '' }, 'prompt'],
  ])('are refused for %s, naming the field', async (_what, body, param) => {
    const { status, json } = await post('/v1/images/generations', { prompt: 'a cat', ...body });
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ code: 'invalid_request', param });
  });

  test('at the limits are accepted: 10 images, and a size that only the fallback does not support', async () => {
    expect(
      (await post('/v1/images/generations', { model: 'acme/image-1', prompt: 'x', n: 10 })).json.usage,
    ).toMatchObject({ images: 10, cost: 0.4 });
    const skipped = await post('/v1/images/generations', {
      models: ['acme/image-1', 'acme/image-ratio'],
      prompt: 'x',
      size: '512x512',
    });
    expect(skipped.status).toBe(200);
  });
});

async function readAll(reader: ReadableStreamDefaultReader | undefined): Promise<void> {
  while (!(await reader?.read())?.done);
}

describe('speech', () => {
  const speak = (body: object) =>
    fetch(`${stack.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/speech-1', input: 'Hello', ...body }),
    });
  const logOf = async (response: Response) =>
    (
      await fetch(`${stack.url}/v1/logs/${response.headers.get('x-request-id')}`, {
        headers: { authorization: `Bearer ${stack.key}` },
      })
    ).json();

  test('is the sound itself, its format in Content-Type and its cost in X-Service-Cost, by the character', async () => {
    const response = await speak({ input: 'Hi 🌍', response_format: 'opus' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('audio/ogg');
    expect(response.headers.get('x-service-cost')).toBe('0.00006'); // 4 characters
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.concat([FIRST_SOUND, REST_OF_SOUND]));
    await expect
      .poll(() => logOf(response))
      .toMatchObject({
        status: 'ok',
        cost: 0.00006,
        quantities: { characters: 4 },
        type: 'speech',
      });
  });

  test('streams: its beginning arrives, with the cost, before the maker has sent the end', async () => {
    const response = await speak({ voice: 'slow' });
    expect(response.headers.get('x-service-cost')).toBe('0.000075');
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    upstreamMayGoOn.emit('go');
    await readAll(reader);
  });

  test('that breaks off is cut, visibly, and free', async () => {
    const response = await speak({ voice: 'hoarse' });
    const reader = response.body?.getReader();
    await reader?.read();
    upstreamMayGoOn.emit('go');
    await expect(readAll(reader)).rejects.toThrow();
    await expect
      .poll(() => logOf(response))
      .toMatchObject({ status: 'error', cost: 0, error_code: 'upstream_error' });
  });

  test('without any sound is a failed attempt', async () => {
    const response = await speak({ model: 'acme/speech-silent' });
    expect(response.status).toBe(502);
    expect((await speak({ model: 'acme/speech-silent', models: ['acme/speech-1'] })).status).toBe(200);
  });

  test.each([
    ['a voice it does not have', { model: 'acme/speech-limits', voice: 'nova' }, 'voice'],
    ['a format it does not have', { model: 'acme/speech-limits', response_format: 'wav' }, 'response_format'],
    ['more characters than it speaks', { model: 'acme/speech-limits', input: 'Hello!' }, 'input'],
    ['an unknown format', { response_format: 'midi' }, 'response_format'],
    ['a speed out of range', { speed: 5 }, 'speed'],
    ['nothing to say', { input: '' }, 'input'],
  ])('is refused for %s, naming the field', async (_what, body, param) => {
    const response = await speak(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request', param } });
  });
});

describe('rerank', () => {
  const documents = ['Carson City', 'Mariana Islands', 'Capitalization', 'Washington, D.C.'];

  test.each(['/v1/rerank', '/v2/rerank'])(
    'at %s: best first, charged by the maker’s searches',
    async (path) => {
      const { status, json } = await post(path, {
        model: 'acme/rerank-1',
        query: 'capital?',
        documents,
        top_n: 2,
      });
      expect(status).toBe(200);
      expect(json).toMatchObject({
        model: 'acme/rerank-1',
        results: [
          { index: 3, relevance_score: 0.999071 },
          { index: 0, relevance_score: 0.32713068 },
        ],
        usage: { searches: 2, input_tokens: 0, cost: 0.004 },
      });
    },
  );

  test('takes 1 to 1,000 documents', async () => {
    const of = (n: number) =>
      post('/v1/rerank', {
        model: 'acme/rerank-1',
        query: 'x',
        documents: Array.from({ length: n }, String),
      });
    expect((await of(0)).json.error).toMatchObject({ code: 'invalid_request', param: 'documents' });
    expect((await of(1)).status).toBe(200);
    expect((await of(1_000)).status).toBe(200);
    expect((await of(1_001)).json.error).toMatchObject({ code: 'invalid_request', param: 'documents' });
  });
});

describe('decisions', () => {
  const questions = (n: number) =>
    Object.fromEntries(
      Array.from({ length: n }, (_, index) => [
        `q${index}`,
        { type: 'boolean', instructions: 'Is it so?', extra: index },
      ]),
    );

  test('answer every question, priced by tokens', async () => {
    const { json } = await post('/v1/decisions', {
      model: 'acme/decide-1',
      state: { amount: 120 },
      questions: questions(2),
    });
    expect(json).toMatchObject({
      model: 'acme/decide-1',
      answers: { q0: { type: 'boolean', probability: 0.75 }, q1: { type: 'boolean', probability: 0.75 } },
      usage: { inputTokens: 40, outputTokens: 3, cost: 0.0000052 },
    });
    const sent = await upstream.request('decide-1');
    expect(sent.json).toMatchObject({ state: { amount: 120 }, questions: { q1: { extra: 1 } } });
  });

  test('take up to 300 questions of the three types', async () => {
    const ask = (body: object) => post('/v1/decisions', { model: 'acme/decide-1', state: 'x', ...body });
    expect((await ask({ questions: questions(300) })).status).toBe(200);
    expect((await ask({ questions: questions(301) })).json.error).toMatchObject({
      code: 'invalid_request',
      param: 'questions',
    });
    expect((await ask({ questions: {} })).json.error).toMatchObject({
      code: 'invalid_request',
      param: 'questions',
    });
    expect((await ask({ questions: { q: { type: 'essay', instructions: 'x' } } })).json.error).toMatchObject({
      param: 'questions.q.type',
    });
    expect((await ask({ questions: questions(1), state: 7 })).json.error).toMatchObject({ param: 'state' });
  });
});

describe('the local models', () => {
  test('rank, decide and draw without a key or a network, and are charged', async () => {
    const documents = [
      'Bread is baked from flour.',
      'Computers are rented by the minute.',
      'Rain falls on the sea.',
    ];
    const ranked = await post('/v1/rerank', {
      model: 'local/rerank',
      query: 'renting a computer',
      documents,
    });
    expect(ranked.json).toMatchObject({
      results: [{ index: 1 }, {}, {}],
      usage: { searches: 1, cost: 0.00002 },
    });
    const questions = { large: { type: 'boolean', instructions: 'Is the amount over 100?' } };
    const decided = await post('/v1/decisions', { model: 'local/decide', state: { amount: 120 }, questions });
    const { large } = decided.json.answers as { large: { type: string; probability: number } };
    expect(large.type).toBe('boolean');
    expect(large.probability).toBeGreaterThan(0.5);
    expect((decided.json.usage as { cost: number }).cost).toBeGreaterThan(0);
    const drawn = await post('/v1/images/generations', {
      model: 'local/image',
      prompt: 'two red circles',
      size: '128x64',
    });
    const [image] = drawn.json.data as { b64_json: string }[];
    const png = Buffer.from(image?.b64_json ?? '', 'base64');
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([128, 64]);
    expect(drawn.json.usage).toMatchObject({ images: 1, cost: 0.0005 });
  });

  test.skipIf(spawnSync('espeak-ng', ['--version']).error)('speak', async () => {
    const response = await fetch(`${stack.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'local/speech',
        input: 'one two three',
        voice: 'alloy',
        response_format: 'wav',
      }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-service-cost')).toBe('0.000013');
    const sound = Buffer.from(await response.arrayBuffer());
    expect(sound.subarray(0, 4).toString()).toBe('RIFF');
    expect(sound.length).toBeGreaterThan(20_000);
  });
});

describe('a model of the wrong type', () => {
  const idOf: Record<ModelType, string> = {
    language: 'acme/chat-1',
    embedding: 'acme/embed-1',
    image: 'acme/image-1',
    video: 'acme/video-1',
    speech: 'acme/speech-1',
    transcription: 'acme/transcribe-1',
    decision: 'acme/decide-1',
    rerank: 'acme/rerank-1',
  };
  /** The smallest body per endpoint, without the model. */
  const bodies: Record<ModelType, object> = {
    language: { messages: [{ role: 'user', content: 'x' }] },
    embedding: { input: 'x' },
    image: { prompt: 'x' },
    video: { prompt: 'x', duration: 1 },
    speech: { input: 'x' },
    transcription: { audio: 'UklGRg==', media_type: 'audio/wav' },
    decision: { state: 'x', questions: { q: { type: 'boolean', instructions: 'x' } } },
    rerank: { query: 'x', documents: ['x'] },
  };
  const types = Object.keys(MODEL_TYPES) as ModelType[];
  const pairs = types.flatMap((endpoint) =>
    types.filter((type) => type !== endpoint).map((type) => [type, endpoint] as const),
  );
  const pathOf = (endpoint: ModelType) => MODEL_TYPES[endpoint].endpoint.slice('POST '.length);
  const expectRefusal = (type: ModelType, status: number, error: unknown) => {
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: 'wrong_endpoint', param: 'model' });
    expect((error as { message: string }).message).toContain(MODEL_TYPES[type].endpoint);
  };

  test('has 56 ways to go wrong', () => expect(pairs).toHaveLength(56));

  test.each(pairs)(
    '%s at the endpoint for %s is refused with the right endpoint named',
    async (type, endpoint) => {
      const { status, json } = await post(pathOf(endpoint), { ...bodies[endpoint], model: idOf[type] });
      expectRefusal(type, status, json.error);
    },
  );

  test.each(types.filter((type) => type !== 'transcription'))(
    '%s at the endpoint for transcription is refused in a multipart form too',
    async (type) => {
      const form = new FormData();
      form.set('model', idOf[type]);
      form.set('file', new Blob(['RIFF']), 'x.wav');
      const response = await fetch(stack.url + pathOf('transcription'), {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.key}` },
        body: form,
      });
      expectRefusal(type, response.status, ((await response.json()) as { error: unknown }).error);
    },
  );
});
