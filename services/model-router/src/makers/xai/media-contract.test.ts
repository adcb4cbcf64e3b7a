// xAI's images, replayed.
import { expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { xai } from './index.ts';

const { read, replay } = replaysOf(xai, import.meta.dirname);
const model = { model: 'grok-imagine-image' };

it('draws in the requested aspect ratio', async () => {
  const maker = await replay([read('images')]);
  const body = {
    prompt: 'a kitten',
    n: 1,
    aspect_ratio: '16:9',
    quality: 'high',
    provider_options: { new: {} },
  };
  const { status, json } = await maker.call('image', body, model);
  expect([status, json().data]).toMatchObject([200, [{ b64_json: expect.stringMatching(/^iVBOR/) }]]);
  expect(maker.requests[0]?.path).toBe('/images/generations');
  expect(maker.requests[0]?.json()).toEqual({
    model: 'grok-imagine-image',
    prompt: 'a kitten',
    n: 1,
    aspect_ratio: '16:9',
    quality: 'high',
    new: {},
    response_format: 'b64_json',
  });
});

it.each([
  ['size', { size: '1024x1024' }],
  ['seed', { seed: 7 }],
])('refuses %s before anything is sent', async (param, field) => {
  const maker = await replay([read('images')]);
  const { status, json } = await maker.call('image', { prompt: 'x', ...field }, model);
  expect([status, json().error]).toMatchObject([400, { param }]);
  expect(maker.requests).toHaveLength(0);
});

it('reports a filtered image as a refusal', async () => {
  const maker = await replay([read('images-blocked')]);
  const { status, json } = await maker.call('image', { prompt: 'x' }, model);
  expect([status, json().error]).toMatchObject([
    400,
    { kind: 'rejected', message: expect.stringMatching(/^the maker refused the content/) },
  ]);
});

it('a refused key of ours is not an error of the request', async () => {
  const maker = await replay([read('bad-key')]);
  expect(await maker.call('image', { prompt: 'x' }, model)).toMatchObject({ status: 401 });
});
