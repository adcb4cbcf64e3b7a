// Replicate's images, replayed: a prediction is started, polled and fetched.
import { expect, it } from 'vitest';
import { type Answering, replaysOf } from '../__fixtures__/replayed-maker.ts';
import { replicate } from './index.ts';

const { read, replay } = replaysOf(replicate, import.meta.dirname);
const replayTo = (end: string) => {
  const answering: Answering = ({ method, path }) => {
    if (method === 'POST') return read('started');
    return read(path.startsWith('/pbxt') ? 'image' : end);
  };
  return replay(answering);
};
const model = { model: 'black-forest-labs/flux-schnell' };

it('starts a prediction with its input, waits for it, and gives the image as base64', async () => {
  const maker = await replayTo('succeeded');
  const body = {
    prompt: 'a kitten',
    aspect_ratio: '16:9',
    seed: 7,
    provider_options: { input: { go_fast: true, seed: 8 }, stream: false },
  };
  const { status, json } = await maker.call('image', body, model);
  expect([status, json().data]).toEqual([200, [{ b64_json: read('image').base64 }]]);
  const [request, ...rest] = maker.requests;
  expect(request?.path).toBe('/models/black-forest-labs/flux-schnell/predictions');
  expect(request?.headers).toMatchObject({ authorization: 'Bearer a key of ours', prefer: 'wait' });
  expect(request?.json()).toEqual({
    input: { prompt: 'a kitten', aspect_ratio: '16:9', seed: 8, num_outputs: 1, go_fast: true },
    stream: false,
  });
  expect(rest.map(({ path }) => path)).toEqual(['/v1/predictions/gm3', '/pbxt/out-0.png']);
});

it('starts a prediction for each image', async () => {
  const maker = await replayTo('succeeded');
  const { json } = await maker.call('image', { prompt: 'a kitten', n: 2, seed: 7 }, model);
  expect(json().data).toHaveLength(2);
  const inputs = maker.requests
    .filter(({ method }) => method === 'POST')
    .map((request) => request.json().input);
  const withSeed = (seed: number) => expect.objectContaining({ seed, num_outputs: 1 });
  expect(inputs).toHaveLength(2);
  expect(inputs).toEqual(expect.arrayContaining([withSeed(7), withSeed(8)]));
});

it('reports a blocked prediction as a refusal', async () => {
  const maker = await replayTo('nsfw');
  const { status, json } = await maker.call('image', { prompt: 'x' }, model);
  expect([status, json().error]).toMatchObject([
    400,
    { kind: 'rejected', message: expect.stringMatching(/^the maker refused the content/) },
  ]);
});

it('a failed prediction is a fault, so the next upstream is tried', async () => {
  const maker = await replayTo('failed');
  await expect(maker.call('image', { prompt: 'x' }, model)).rejects.toThrow(/CUDA out of memory/);
});

it('reports throttling with the time to wait', async () => {
  const maker = await replay([read('throttled')]);
  expect(await maker.call('image', { prompt: 'x' }, model)).toMatchObject({ status: 429, retryAfterS: 1 });
});
