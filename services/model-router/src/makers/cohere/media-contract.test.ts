// Cohere's embeddings and reranking, replayed.
import { expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { cohere } from './index.ts';

const { read, replay } = replaysOf(cohere, import.meta.dirname);

it('embeds, with dimensions that the provider package does not know, and counts what Cohere bills', async () => {
  const maker = await replay([read('embeddings')]);
  const body = {
    input: ['hello', 'goodbye'],
    dimensions: 2048,
    provider_options: { input_type: 'classification' },
  };
  const { json } = await maker.call('embedding', body, { model: 'embed-v5.0-pro' });
  expect(json()).toMatchObject({
    data: [{ index: 0 }, { index: 1, embedding: [0.5, 0.25, -0.125] }],
    usage: { prompt_tokens: 2 },
  });
  expect(maker.requests[0]?.path).toBe('/embed');
  expect(maker.requests[0]?.json()).toEqual({
    model: 'embed-v5.0-pro',
    texts: ['hello', 'goodbye'],
    embedding_types: ['float'],
    output_dimension: 2048,
    input_type: 'classification',
  });
});

it('splits a request that exceeds 96 texts, in order, and adds up the tokens', async () => {
  const maker = await replay((request) => {
    const texts = request.json().texts as string[];
    const float = texts.map((text) => [Number(text)]);
    return {
      source: 'made for the test',
      json: { embeddings: { float }, meta: { billed_units: { input_tokens: texts.length } } },
    };
  });
  const input = Array.from({ length: 200 }, (_, index) => String(index));
  const { data, usage } = (await maker.call('embedding', { input })).json() as {
    data: { index: number; embedding: number[] }[];
    usage: { prompt_tokens: number };
  };
  expect(maker.requests).toHaveLength(3);
  expect(data.map(({ embedding }) => embedding[0])).toEqual(input.map(Number));
  expect(usage.prompt_tokens).toBe(200);
});

it('ranks, best first, with the searches that Cohere bills, and the documents on request', async () => {
  const maker = await replay([read('rerank')]);
  const documents = [
    'Carson City',
    { text: 'Saipan' },
    'Charlotte Amalie',
    'Washington, D.C.',
    'Capital punishment',
  ];
  const { json } = await maker.call(
    'rerank',
    {
      query: 'What is the capital of the United States?',
      documents,
      top_n: 3,
      return_documents: true,
      max_tokens_per_doc: 512,
      provider_options: { priority: 1 },
    },
    { model: 'rerank-v4.0-pro' },
  );
  expect(json()).toMatchObject({
    results: [
      { index: 3, relevance_score: 0.999071, document: { text: 'Washington, D.C.' } },
      { index: 4, relevance_score: 0.7867867 },
      { index: 0, relevance_score: 0.32713068, document: { text: 'Carson City' } },
    ],
    meta: { billed_units: { search_units: 2 } },
  });
  expect(maker.requests[0]?.json()).toEqual({
    model: 'rerank-v4.0-pro',
    query: 'What is the capital of the United States?',
    documents: ['Carson City', 'Saipan', 'Charlotte Amalie', 'Washington, D.C.', 'Capital punishment'],
    top_n: 3,
    max_tokens_per_doc: 512,
    priority: 1,
  });
});

it('leaves out documents that are not requested', async () => {
  const maker = await replay([read('rerank')]);
  const { json } = await maker.call('rerank', { query: 'x', documents: ['a', 'b', 'c', 'd', 'e'] });
  expect((json().results as object[])[0]).toEqual({ index: 3, relevance_score: 0.999071 });
});

it('refuses rank_fields, which version 2 does not have', async () => {
  const maker = await replay([read('rerank')]);
  const { status, json } = await maker.call('rerank', {
    query: 'x',
    documents: ['a'],
    rank_fields: ['text'],
  });
  expect([status, json().error]).toMatchObject([400, { param: 'rank_fields' }]);
});

it.each([
  ['embedding', { input: 'x' }],
  ['rerank', { query: 'x', documents: ['a'] }],
] as const)('%s: a model removed upstream is reported with its status', async (type, body) => {
  const maker = await replay([read('invalid')]);
  expect(await maker.call(type, body)).toMatchObject({ status: 404 });
});
