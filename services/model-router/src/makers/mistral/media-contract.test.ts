// Mistral's embeddings, replayed.
import { afterEach, expect, it } from 'vitest';
import { type Fixture, fixture, type ReplayedMaker, replayedMaker } from '../ai-sdk/replayed-maker.ts';
import { mistral } from './index.ts';

const read = (name: string) => fixture(import.meta.dirname, name);
let maker: ReplayedMaker;
const replay = async (answers: Fixture[]) => {
  maker = await replayedMaker(mistral, answers);
};
afterEach(() => maker.close());

it('gives the vectors and the tokens, and puts provider_options on the wire', async () => {
  await replay([read('embeddings')]);
  const body = { input: ['one', 'two'], dimensions: 3, provider_options: { output_dtype: 'int8' } };
  const { json } = await maker.call('embedding', body, { model: 'codestral-embed' });
  expect(json()).toMatchObject({
    data: [{ index: 0 }, { index: 1, embedding: [0.5, -0.5, 0.25] }],
    usage: { prompt_tokens: 15, total_tokens: 15 },
  });
  expect(maker.requests[0]?.path).toBe('/embeddings');
  expect(maker.requests[0]?.json()).toEqual({
    model: 'codestral-embed',
    input: ['one', 'two'],
    output_dimension: 3,
    output_dtype: 'int8',
    encoding_format: 'float',
  });
});

it('splits what is over the 32 texts of one call', async () => {
  await replay([read('embeddings')]);
  await maker.call('embedding', { input: Array.from({ length: 70 }, () => 'x') });
  expect(maker.requests.map((request) => (request.json().input as string[]).length).sort()).toEqual([
    32, 32, 6,
  ]);
});

it('tells an invalid request in the words of Mistral', async () => {
  await replay([read('invalid')]);
  const { status, json } = await maker.call('embedding', { input: 'x' });
  expect([status, json().error]).toMatchObject([
    400,
    { message: expect.stringContaining('Too many inputs') },
  ]);
});
