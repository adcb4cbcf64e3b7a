// Voyage's embeddings and reranking, replayed.
import { expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { voyage } from './index.ts';

const { read, replay } = replaysOf(voyage, import.meta.dirname);

it('embeds, with dimensions under Voyage’s own name', async () => {
  const maker = await replay([read('embeddings')]);
  const body = {
    input: ['one', 'two'],
    dimensions: 512,
    provider_options: { input_type: 'document', truncation: false },
  };
  const { json } = await maker.call('embedding', body, { model: 'voyage-4' });
  expect(json()).toMatchObject({
    data: [{ index: 0 }, { index: 1 }],
    usage: { prompt_tokens: 10, total_tokens: 10 },
  });
  expect(maker.requests[0]?.headers.authorization).toBe('Bearer a key of ours');
  expect(maker.requests[0]?.json()).toEqual({
    model: 'voyage-4',
    input: ['one', 'two'],
    output_dimension: 512,
    input_type: 'document',
    truncation: false,
  });
});

it('splits a request that exceeds 128 texts', async () => {
  const answer = read('embeddings').json as { data: object[] };
  const maker = await replay((request) => {
    const data = (request.json().input as string[]).map((_, index) => ({ ...answer.data[0], index }));
    return { source: 'made for the test', json: { ...answer, data } };
  });
  await maker.call('embedding', { input: Array.from({ length: 130 }, () => 'x') });
  expect(maker.requests.map((request) => (request.json().input as string[]).length).sort()).toEqual([128, 2]);
});

it('ranks, with the tokens that Voyage charges', async () => {
  const maker = await replay([read('rerank')]);
  const body = {
    query: 'Sample query',
    documents: ['one', 'two'],
    top_n: 2,
    return_documents: true,
    truncation: true,
    provider_options: { new: null },
  };
  const { json } = await maker.call('rerank', body, { model: 'rerank-2.5' });
  expect(json()).toMatchObject({
    results: [
      { index: 0, relevance_score: 0.4375, document: { text: 'one' } },
      { index: 1, relevance_score: 0.421875, document: { text: 'two' } },
    ],
    usage: { total_tokens: 26 },
  });
  expect(maker.requests[0]?.json()).toEqual({
    model: 'rerank-2.5',
    query: 'Sample query',
    documents: ['one', 'two'],
    top_k: 2,
    truncation: true,
    new: null,
  });
});

it.each([
  ['embedding', { input: 'x' }],
  ['rerank', { query: 'x', documents: ['a'] }],
] as const)('%s: an invalid request has Voyage’s message', async (type, body) => {
  const maker = await replay([read('invalid')]);
  const { status, json } = await maker.call(type, body);
  expect([status, json().error]).toMatchObject([
    400,
    { message: expect.stringContaining('max allowed tokens') },
  ]);
});
