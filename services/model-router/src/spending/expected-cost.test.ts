import { catalogModel } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { expectedCost } from './expected-cost.ts';
import { priceAccepted, type RequestJson } from './request-price.ts';

/** Nano-dollars per token. */
const INPUT = 1_000n;
const OUTPUT = 10_000n;

const model = (type: string, others: object = {}) =>
  catalogModel.parse({
    id: `acme/${type}`,
    type,
    name: type,
    modalities: { input: ['text'], output: ['text'] },
    pricing: { input_token: '0.000001', output_token: '0.00001' },
    upstreams: [{ adapter: 'openai-compatible', base_url: 'http://127.0.0.1:1', model: 'm' }],
    ...others,
  });
const messages = [{ role: 'user', content: 'Hello!' }];
const chat = model('language', { context_length: 200_000, limits: { output_tokens: 64_000 } });
const inputOf = (request: RequestJson) => priceAccepted(chat, request).costNano;
/** Output tokens that are held. */
const heldBy = (request: RequestJson, { of = chat, stream = false } = {}) =>
  (expectedCost(of, request, stream).cost - inputOf(request)) / OUTPUT;

test.each([
  ['max_tokens', { max_tokens: 8_000 }, 8_000n],
  ['max_completion_tokens', { max_completion_tokens: 8_000 }, 8_000n],
  [
    'the larger of the two, since makers differ in which they use',
    { max_tokens: 9, max_completion_tokens: 8_000 },
    8_000n,
  ],
  ['as much for each of n answers', { max_tokens: 8_000, n: 3 }, 24_000n],
  ['the model’s maximum without a given limit', {}, 64_000n],
])('an unstreamed chat holds its maximum output: %s', (_which, asked, tokens) => {
  expect(heldBy({ messages, ...asked })).toBe(tokens);
});

test('without an output limit a model holds its context, and without that the usual maximum', () => {
  expect(heldBy({ messages }, { of: model('language', { context_length: 200_000 }) })).toBe(200_000n);
  expect(heldBy({ messages }, { of: model('language') })).toBe(128_000n);
});

test('input that the maker may write into its cache is held at the price of writing', () => {
  const writing = model('language', {
    pricing: {
      input_token: '0.000001',
      cache_write_input_token: '0.00000125',
      cache_write_1h_input_token: '0.000002',
      output_token: '0.00001',
    },
  });
  const cached = (mark: object | null, text = 'Hello!') => ({
    max_tokens: 1,
    messages: [{ role: 'user', content: [{ type: 'text', text, ...(mark && { cache_control: mark }) }] }],
  });
  const perToken = (request: RequestJson, of = writing) =>
    (expectedCost(of, request, false).cost - OUTPUT) /
    BigInt(priceAccepted(of, request).quantities.input_tokens ?? 1);
  expect(perToken(cached(null))).toBe(1_000n);
  expect(perToken(cached(null, '"cache_control":'))).toBe(1_000n);
  expect(perToken(cached({ type: 'ephemeral' }))).toBe(1_250n);
  expect(perToken(cached({ type: 'ephemeral', ttl: '1h' }))).toBe(2_000n);
  const { cache_write_1h_input_token: _, ...unmarked } = writing.pricing;
  expect(perToken(cached(null), { ...writing, pricing: unmarked })).toBe(1_250n);
});

test.each([
  ['sound', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }, 7_000n],
  [
    'a document, which may be a video',
    { type: 'file', file: { file_data: 'data:video/mp4;base64,AA' } },
    7_000n,
  ],
  ['a picture', { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }, INPUT],
  ['a text about them', { type: 'text', text: '"input_audio": "data:audio/mp3"' }, INPUT],
])('input with %s is held at the rate of what the maker may hear in it', (_what, part, perToken) => {
  const hearing = model('language', {
    pricing: { input_token: '0.000001', audio_input_token: '0.000007', output_token: '0.00001' },
  });
  const request = { max_tokens: 1, messages: [{ role: 'user', content: [part] }] };
  const { quantities } = priceAccepted(hearing, request);
  const held = expectedCost(hearing, request, false).cost - OUTPUT;
  expect(held / BigInt(quantities.input_tokens ?? 1)).toBe(perToken);
});

test('a stream holds a thousand tokens at first, or fewer if the caller asked for fewer', () => {
  expect(heldBy({ messages, max_tokens: 8_000 }, { stream: true })).toBe(1_000n);
  expect(heldBy({ messages, max_tokens: 50 }, { stream: true })).toBe(50n);
});

test('an answer limited to an amount gets the tokens that fit, and no more than the caller asked for', () => {
  const { outputTokensWithin } = expectedCost(chat, { messages, n: 2 }, false);
  expect(outputTokensWithin?.(inputOf({ messages }) + 5_000n * 2n * OUTPUT)).toBe(5_000);
  expect(outputTokensWithin?.(0n)).toBe(1);
  const short = expectedCost(chat, { messages, max_tokens: 7 }, false);
  expect(short.outputTokensWithin?.(1_000_000_000n)).toBe(7);
});

test('an accepted request costs its input: no output, and only what the model reads', () => {
  const plain = inputOf({ messages });
  expect(plain % INPUT).toBe(0n);
  expect(inputOf({ messages, metadata: { note: 'x'.repeat(4_000) }, max_tokens: 8_000 })).toBe(plain);
  const embedding = model('embedding', { pricing: { input_token: '0.000001' } });
  const texts = priceAccepted(embedding, { model: 'acme/embedding', input: ['abcd', 'efghijkl'] });
  expect(texts.costNano).toBe(3n * INPUT);
  expect(priceAccepted(embedding, { input: [[15_339, 1_917], [5]] }).costNano).toBe(3n * INPUT);
});

test.each(['system', 'contents', 'provider_options'])(
  'input in %s counts, as makers may read it',
  (member) => {
    const more = { [member]: { text: 'x'.repeat(40_000) } };
    const added = inputOf({ messages, ...more }) - inputOf({ messages });
    expect(added).toBeGreaterThan(10_000n * INPUT);
    expect(added).toBeLessThan(10_050n * INPUT);
  },
);

test.each([
  ['by the image', { image: '0.04' }, 80_000_000n],
  ['by the token', { input_token: '0.000001', output_token: '0.00001' }, INPUT + 2n * 272n * OUTPUT],
])('a started batch of images, priced %s, costs each of its images', (_how, pricing, cost) => {
  const image = model('image', { pricing });
  expect(priceAccepted(image, { prompt: 'Sea', n: 2 }).costNano).toBe(cost);
  expect(expectedCost(image, { prompt: 'Sea', n: 2 }, false).cost).toBeGreaterThanOrEqual(cost);
});

test.each([
  ['short documents', 1_000, 'x', 10n],
  ['documents of 1,001 tokens', 50, 'x'.repeat(4_004), 2n],
  ['one document', 1, 'x', 1n],
])('a rerank of %s holds the searches that its maker may count', (_, documents, text, searches) => {
  const rerank = model('rerank', { pricing: { search: '0.002' } });
  const request = { query: 'a', documents: Array(documents).fill(text) };
  expect(expectedCost(rerank, request, false)).toEqual({ cost: searches * 2_000_000n, exact: false });
});

test('a search and speech cost the same, whether or not the caller waits for the answer', () => {
  const speech = model('speech', { pricing: { character: '0.000015' } });
  const rerank = model('rerank', { pricing: { search: '0.002' } });
  const spoken = { model: 'acme/speech', input: 'Hello', voice: 'a' };
  const ranked = { query: 'a', documents: ['x', 'y'] };
  for (const [of, request] of [
    [speech, spoken],
    [rerank, ranked],
  ] as const)
    expect(priceAccepted(of, request).costNano).toBe(expectedCost(of, request, false).cost);
});
