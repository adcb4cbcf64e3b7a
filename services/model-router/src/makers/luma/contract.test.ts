// Luma's images, replayed: a generation that is started, asked for, and fetched.
import { expect, it } from 'vitest';
import { type Answering, replaysOf } from '../__fixtures__/replayed-maker.ts';
import { luma } from './index.ts';

const { read, replay } = replaysOf(luma, import.meta.dirname);
const replayTo = (end: string) => {
  const answering: Answering = ({ method, path }) => {
    if (method === 'POST') return read('queued');
    return read(path.startsWith('/assets') ? 'image' : end);
  };
  return replay(answering);
};
const model = { model: 'photon-1' };

it('starts a generation, waits for it, and gives the image as base64', async () => {
  const maker = await replayTo('completed');
  const body = {
    prompt: 'a kitten',
    aspect_ratio: '3:4',
    output_format: 'png',
    provider_options: {
      style_ref: [{ url: 'https://example.com/a', weight: 0.8 }],
    },
  };
  const { status, json } = await maker.call('image', body, model);
  expect([status, json().data]).toEqual([200, [{ b64_json: read('image').base64 }]]);
  const [request, ...rest] = maker.requests;
  expect(request?.path).toBe('/dream-machine/v1/generations/image');
  expect(request?.headers.authorization).toBe('Bearer a key of ours');
  expect(request?.json()).toEqual({
    model: 'photon-1',
    prompt: 'a kitten',
    aspect_ratio: '3:4',
    format: 'png',
    style_ref: [{ url: 'https://example.com/a', weight: 0.8 }],
  });
  expect(rest.map(({ path }) => path)).toEqual([
    '/dream-machine/v1/generations/123e4567-e89b-12d3-a456-426614174000',
    '/assets/image.jpg',
  ]);
});

it.each([
  ['size', { size: '1024x1024' }],
  ['seed', { seed: 7 }],
  ['quality', { quality: 'high' }],
])('refuses %s before anything is sent', async (param, field) => {
  const maker = await replayTo('completed');
  const { status, json } = await maker.call('image', { prompt: 'x', ...field }, model);
  expect([status, json().error]).toMatchObject([400, { param }]);
  expect(maker.requests).toHaveLength(0);
});

it('tells a generation that moderation failed as a refusal', async () => {
  const maker = await replayTo('moderated');
  const { status, json } = await maker.call('image', { prompt: 'x' }, model);
  const message = 'the maker refused the content: Advanced moderation failed.';
  expect([status, json().error]).toMatchObject([400, { code: 'content_policy_violation', message }]);
});

it('tells what is wrong with a request in the words of Luma', async () => {
  const maker = await replay([read('invalid')]);
  const { status, json } = await maker.call('image', { prompt: 'x', aspect_ratio: '5:4' }, model);
  expect([status, json().error]).toMatchObject([422, { message: expect.stringContaining("'16:9'") }]);
});
