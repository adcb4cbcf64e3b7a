// The official `cohere-ai` client, unchanged, with nothing but our address: it looks for /v2/rerank there.
import { CohereClientV2, CohereError } from 'cohere-ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClientStack, costOf, startClientStack } from './client-stack.ts';

let clientStack: ClientStack;
let client: CohereClientV2;

beforeAll(async () => {
  clientStack = await startClientStack();
  // https://docs.cohere.com/v2/reference/rerank
  clientStack.upstream.on('rerank-1', ({ json }, response) => {
    const results = [
      { index: 3, relevance_score: 0.999071 },
      { index: 0, relevance_score: 0.32713068 },
    ].slice(0, Number(json?.top_n ?? 2));
    const meta = { api_version: { version: '2', is_experimental: false }, billed_units: { search_units: 1 } };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ results, id: '07734bd2-2473-4f07-94e1-0d9f0e6843cf', meta }));
  });
  client = new CohereClientV2({ environment: clientStack.stack.url, token: clientStack.key, maxRetries: 0 });
});
afterAll(() => clientStack?.stop());

const query = 'What is the capital of the United States?';
const documents = [
  'Carson City is the capital city of the American state of Nevada.',
  'The Commonwealth of the Northern Mariana Islands is a group of islands in the Pacific Ocean.',
  'Capitalization in English grammar is the use of a capital letter at the start of a word.',
  'Washington, D.C. is the capital of the United States.',
];

describe('rerank', () => {
  it('gives the upstream’s ranking, with its cost', async () => {
    const { data, rawResponse } = await client
      .rerank({ model: 'acme/rerank-1', query, documents, topN: 2 })
      .withRawResponse();
    expect(data.results).toEqual([
      { index: 3, relevanceScore: 0.999071 },
      { index: 0, relevanceScore: 0.32713068 },
    ]);
    expect(rawResponse.headers.get('x-service-cost')).toBe('0.002');
    expect(costOf((data as { usage?: unknown }).usage)).toBe(0.002);
    expect((await clientStack.upstream.request('rerank-1')).json).toEqual({
      model: 'rerank-1',
      query,
      documents,
      top_n: 2,
    });
  });

  it('ranks locally, best first, as many as were asked for', async () => {
    const { results } = await client.rerank({ model: 'local/rerank', query, documents, topN: 3 });
    expect(results).toHaveLength(3);
    expect(results[0]?.index).toBe(3);
    const scores = results.map(({ relevanceScore }) => relevanceScore);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });
});

describe('errors are the client’s own', () => {
  const failure = async (call: PromiseLike<unknown>): Promise<CohereError> => {
    const error = await Promise.resolve(call).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error instanceof CohereError) return error;
    throw new Error('it did not fail with a CohereError', { cause: error });
  };

  it.each([
    [400, 'wrong_endpoint', () => client.rerank({ model: 'local/chat', query, documents })],
    [400, 'invalid_request', () => client.rerank({ model: 'local/rerank', query, documents: [] })],
    [404, 'model_not_found', () => client.rerank({ model: 'acme/nonesuch', query, documents })],
    [
      401,
      'invalid_api_key',
      () =>
        new CohereClientV2({ environment: clientStack.stack.url, token: 'sy_wrong' }).rerank({
          model: 'local/rerank',
          query,
          documents,
        }),
    ],
  ])('%d %s', async (status, code, call) => {
    const { statusCode, body } = await failure(call());
    expect(statusCode).toBe(status);
    expect(body).toMatchObject({ error: { code } });
  });
});
