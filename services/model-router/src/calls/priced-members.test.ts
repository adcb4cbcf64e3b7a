import { type CatalogModel, catalogModel, type ModelCallHead, type ModelType } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import { AI_SDK_MAKERS } from '../makers/registry.ts';
import { JsonRequest } from './json-request.ts';
import { TranscriptionRequest } from './transcription-request.ts';

const PRICINGS = {
  language: { input_token: '0.000001', output_token: '0.000002' },
  embedding: { input_token: '0.000001' },
  image: { image: '0.04' },
  video: { second: { '720p': '0.10' } },
  speech: { character: '0.00001' },
  transcription: { minute: '0.006' },
  decision: { input_token: '0.000001', output_token: '0.000002' },
  rerank: { search: '0.002' },
} satisfies Record<ModelType, object>;

/** A minimal body for each endpoint. */
const BODIES: Partial<Record<ModelType, object>> = {
  language: { messages: [{ role: 'user', content: 'Hello' }] },
  embedding: { input: 'Hello' },
  image: { prompt: 'a cat' },
  speech: { input: 'Hello' },
  decision: { state: 'x', questions: { q: { type: 'boolean', instructions: 'Is it?' } } },
  rerank: { query: 'x', documents: ['y'] },
};

function model(type: ModelType, pricing: object = PRICINGS[type]): CatalogModel {
  return catalogModel.parse({
    id: 'acme/cheap',
    type,
    name: 'Cheap',
    modalities: { input: ['text'], output: ['text'] },
    pricing,
    upstreams: [{ adapter: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1', model: 'cheap' }],
  });
}

const HEAD: ModelCallHead = {
  request_id: 'req_1',
  org: 'org_1',
  key_id: 'key_1',
  models: ['acme/cheap'],
  stream: false,
  include_usage: false,
  received_at: 0,
  body_bytes: 0,
};

/** The field that a request is refused for; null when the request passes. */
function refused(type: ModelType, more: object | string, pricing?: object): string | null | undefined {
  const base = JSON.stringify({ model: 'acme/cheap', ...BODIES[type] });
  const text = typeof more === 'string' ? more : JSON.stringify(more);
  const body = Buffer.from(text === '{}' ? base : `${base.slice(0, -1)},${text.slice(1)}`);
  const error = new JsonRequest(type, body, HEAD).refusalOf(model(type, pricing));
  if (error === null) return null;
  expect(error.code).toBe('invalid_request');
  expect(error.message.split(' ').length).toBeLessThanOrEqual(20);
  return error.param;
}

const WITH_OPTIONS: [ModelType, string, unknown][] = [
  ['language', 'model', 'gpt-5-pro'],
  ['language', 'models', ['gpt-5-pro']],
  ['language', 'n', 128],
  ['language', 'max_tokens', 100_000],
  ['language', 'max_completion_tokens', 100_000],
  ['language', 'max_output_tokens', 100_000],
  ['language', 'service_tier', 'priority'],
  ['language', 'stream', true],
  ['language', 'stream_options', { include_usage: false }],
  ['language', 'inference_geo', 'us'],
  ['decision', 'model', 'gpt-5-pro'],
  ['decision', 'max_tokens', 100_000],
  ['embedding', 'model', 'dear'],
  ['embedding', 'content', { parts: [{ text: 'much longer' }] }],
  ['embedding', 'texts', ['much longer']],
  ['embedding', 'encoding_format', 'base64'],
  ['rerank', 'model', 'dear'],
  ['image', 'model', 'dear'],
  ['image', 'version', '5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa'],
  ['image', 'n', 10],
  ['image', 'num_images', 4],
  ['image', 'image_size', 'landscape_16_9'],
  ['image', 'width', 1440],
  ['image', 'quality', 'hd'],
  ['image', 'resolution', '2k'],
  ['image', 'webhook_url', 'https://example.com'],
  ['image', 'stream', true],
  ['image', 'response_format', 'url'],
  ['speech', 'model_id', 'eleven_v3'],
  ['speech', 'text', 'much longer'],
  ['speech', 'stream_format', 'sse'],
  ['speech', 'input', 'much longer'],
];

describe('a member that selects or prices the work', () => {
  test.each(WITH_OPTIONS)('is refused in provider_options of a %s: %s', (type, name, value) => {
    expect(refused(type, { provider_options: { [name]: value } })).toBe(`provider_options.${name}`);
  });

  test.each([null, false])('is not refused when its value, %s, asks for nothing', (value) => {
    expect(refused('transcription', { provider_options: { multichannel: value } })).toBeNull();
    expect(refused('language', { provider_options: { max_tokens: value } })).toBeNull();
  });

  test('is not searched for in more container elements than the limit', () => {
    const many = (elements: number) => ({ provider_options: { config: Array(elements).fill({ x: 1 }) } });
    expect(refused('language', many(1_000))).toBeNull();
    expect(() => refused('language', many(1_001))).toThrow('has too many elements');
  });

  test.each([
    ['camel case', 'maxOutputTokens'],
    ['capitals', 'Max_Tokens'],
    ['hyphens', 'max-tokens'],
    ['the brackets of a form', 'max_tokens[]'],
    ['letters that some JSON readers fold', 'max_to\u212aen\u017f'],
  ])('is refused in any spelling: %s', (_, name) => {
    expect(refused('language', { provider_options: { [name]: 9 } })).toBe(`provider_options.${name}`);
  });

  test.each<[ModelType, object, string]>([
    ['language', { generationConfig: { maxOutputTokens: 9 } }, 'generationConfig.maxOutputTokens'],
    ['language', { generation_config: { candidate_count: 9 } }, 'generation_config.candidate_count'],
    ['image', { input: { num_outputs: 4 } }, 'input.num_outputs'],
    ['image', { parameters: { sampleCount: 4 } }, 'parameters.sampleCount'],
    [
      'image',
      { generationConfig: { imageConfig: { imageSize: '4K' } } },
      'generationConfig.imageConfig.imageSize',
    ],
    ['embedding', { requests: [{ x: 1 }, { content: {} }] }, 'requests.1.content'],
    ['language', { extra_body: { extra_body: { model: 'dear' } } }, 'extra_body.extra_body.model'],
  ])('is refused inside the containers that makers have: %s', (type, options, at) => {
    expect(refused(type, { provider_options: options })).toBe(`provider_options.${at}`);
  });

  test.each(
    AI_SDK_MAKERS.flatMap(({ types, priced = {} }) =>
      Object.keys(priced).map((name) => [name, types] as const),
    ),
  )('is refused by the name of one maker, whichever is called: %s', (name, types) => {
    const refusals = types.map((type) => refused(type, { provider_options: { [name]: 9 } }));
    expect(refusals).toContain(`provider_options.${name}`);
  });

  test.each(AI_SDK_MAKERS.flatMap(({ containers = [], repeated = [] }) => [...containers, ...repeated]))(
    'is refused inside %s, where a maker of the catalog has settings',
    (name) => {
      const options = { [name]: { candidateCount: 9 } };
      expect(refused('language', { provider_options: options })).toBe(
        `provider_options.${name}.candidateCount`,
      );
    },
  );

  test.each([
    ['an escaped name', '{"provider_options":{"mod\\u0065l":"dear"}}', 'provider_options.model'],
    ['an escaped container', '{"provider\\u005foptions":{"model":"dear"}}', 'provider_options.model'],
    ['a member given twice', '{"provider_options":{"n":9,"n":null}}', 'provider_options.n'],
    [
      'a container given twice',
      '{"provider_options":{"input":{"n":9},"\\u0069nput":{}}}',
      'provider_options.input',
    ],
  ])('is refused however it is written: %s', (_, text, at) => {
    let param: unknown;
    try {
      param = refused('language', text);
    } catch (error) {
      param = (error as { param?: unknown }).param;
    }
    expect(param).toBe(at);
  });

  test.each<[string, object]>([
    ['in the body', { [`model${'_'.repeat(600_000)}`]: 1 }],
    ['in provider_options', { provider_options: { ['\ufdfa'.repeat(600_000)]: 1 } }],
    ['in a container', { provider_options: { config: { [`model${'_'.repeat(600_000)}`]: 1 } } }],
  ])('a name that is too long to be read is refused, and shortened in the error: %s', (_, more) => {
    const body = Buffer.from(JSON.stringify({ model: 'acme/cheap', ...BODIES.language, ...more }));
    let error: unknown;
    try {
      new JsonRequest('language', body, HEAD);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('too long a name'),
    });
    expect((error as Error).message.length).toBeLessThan(1_000);
  });

  test('containers nested too deep to be read are refused', () => {
    const deep = `${'{"input":'.repeat(100_000)}{"n":9}${'}'.repeat(100_000)}`;
    expect(() => refused('image', `{"provider_options":${deep}}`)).toThrow('deeper than 4 levels');
  });

  test.each<[ModelType, string, unknown]>([
    ['language', 'best_of', 20],
    ['language', 'n_predict', 100_000],
    ['language', 'Model', 'dear'],
    ['language', 'MAX_TOKENS', 100_000],
    ['language', 'service_tier', 'priority'],
    ['image', 'num_images', 10],
    ['image', 'width', 4_096],
    ['speech', 'Input', 'much longer'],
    ['embedding', 'content', { parts: [] }],
  ])('is refused among the further fields of a %s: %s', (type, name, value) => {
    expect(refused(type, { [name]: value })).toBe(name);
  });

  test.each<[object, string]>([
    [{ prompt_cache_options: { mode: 'explicit', prewarm: true } }, 'prompt_cache_options.prewarm'],
    [{ prompt_cache_options: { ttl: '12h' } }, 'prompt_cache_options.ttl'],
    [{ provider_options: { promptCacheOptions: { ttl: '12h' } } }, 'provider_options.promptCacheOptions.ttl'],
  ])('is refused among the options of OpenAI’s cache: %j', (more, param) => {
    expect(refused('language', more)).toBe(param);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ file_url: 'https://example.com/long.mp3' }, 'file_url'],
    [{ model: 'dear' }, 'model'],
    [{ multichannel: true }, 'multichannel'],
    [{ callback: 'https://example.com' }, 'callback'],
    [{ response_format: 'text' }, 'response_format'],
    [{ stream: true }, 'stream'],
  ])('is refused in provider_options of a transcription: %j', (options, name) => {
    const params = { media_type: 'audio/wav', filename: 'a.wav', provider_options: options };
    const audio = { format: 'wav', seconds: 1 } as const;
    const error = new TranscriptionRequest(Buffer.alloc(1), params, audio).refusalOf(model('transcription'));
    expect(error).toMatchObject({ code: 'invalid_request', param: `provider_options.${name}` });
  });
});

describe('a member that does not price the work passes', () => {
  test.each<[ModelType, object]>([
    ['language', {}],
    [
      'language',
      { n: 2, max_tokens: 10, max_completion_tokens: 10, service_tier: 'auto', models: ['acme/b'] },
    ],
    ['language', { n_predict: null, seed: 1, top_k: 4, reasoning_effort: 'low' }],
    ['language', { provider_options: null }],
    ['language', { prompt_cache_options: { mode: 'explicit', prewarm: false, ttl: '30m' }, ttl: 300 }],
    [
      'language',
      { provider_options: { thinking: { type: 'enabled', budget_tokens: 9 }, service_tier: 'flex' } },
    ],
    ['language', { provider_options: { acme: { n: 1 }, tools: [{ parameters: { model: 'x' } }] } }],
    [
      'language',
      { provider_options: { generationConfig: { responseSchema: { properties: { model: {}, n: {} } } } } },
    ],
    ['image', { n: 2, size: '512x512', quality: 'high', style: 'vivid' }],
    ['image', { provider_options: { input: { go_fast: true, output_quality: 80 }, num_inference_steps: 4 } }],
    ['speech', { instructions: 'slow', provider_options: { voice_settings: { stability: 0.5 } } }],
    ['embedding', { provider_options: { taskType: 'CLUSTERING' } }],
    ['rerank', { top_n: 1, provider_options: { priority: 1, max_tokens_per_doc: 5 } }],
  ])('%s %j', (type, more) => {
    expect(refused(type, more)).toBeNull();
  });

  test('a size and a quality of a model that charges for the tokens that it draws', () => {
    const byTokens = { input_token: '0.000005', output_token: '0.00004' };
    const options = { quality: 'high', generationConfig: { imageConfig: { imageSize: '2K' } } };
    expect(refused('image', { provider_options: options }, byTokens)).toBeNull();
    expect(refused('image', { provider_options: { n: 2 } }, byTokens)).toBe('provider_options.n');
  });
});
