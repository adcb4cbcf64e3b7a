// fal's images, replayed.
import { expect, it } from 'vitest';
import { replaysOf } from '../__fixtures__/replayed-maker.ts';
import { fal } from './index.ts';

const { read, replay } = replaysOf(fal, import.meta.dirname);
const model = { model: 'fal-ai/flux/schnell' };

it('asks the model under its path, fetches its images, and gives base64', async () => {
  const maker = await replay(({ method }) => read(method === 'POST' ? 'images' : 'image'));
  const body = {
    prompt: 'a kitten',
    size: '1024x768',
    seed: 7,
    output_format: 'png',
    guidance_scale: 3.5,
    user: 'end-user-7',
    provider_options: { num_inference_steps: 4, loras: [{ path: 'x', scale: 1.0 }] },
  };
  const { status, json } = await maker.call('image', body, model);
  expect([status, json().data]).toEqual([200, [{ b64_json: read('image').base64 }]]);
  const [request, ...fetched] = maker.requests;
  expect([request?.path, request?.headers.authorization]).toEqual([
    '/fal-ai/flux/schnell',
    'Key a key of ours',
  ]);
  expect(request?.json()).toEqual({
    prompt: 'a kitten',
    num_images: 1,
    image_size: { width: 1024, height: 768 },
    seed: 7,
    output_format: 'png',
    guidance_scale: 3.5,
    num_inference_steps: 4,
    loras: [{ path: 'x', scale: 1 }],
  });
  expect(fetched.map(({ path }) => path).sort()).toEqual(['/files/a.png']);
  expect(fetched.every(({ headers }) => headers.authorization === undefined)).toBe(true);
});

it('gives no more images than were requested', async () => {
  const two = [{ url: '{origin}/files/a.png' }, { url: '{origin}/files/b.png' }];
  const maker = await replay(({ method }) =>
    method === 'POST' ? { source: 'made for the test', json: { images: two } } : read('image'),
  );
  const { json } = await maker.call('image', { prompt: 'x', n: 2 }, model);
  expect(maker.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  expect(json().data).toHaveLength(2);
});

it('fetches no image from a private address', async () => {
  const image = { url: 'http://127.0.0.1:9/secret.png', content_type: 'image/png' };
  const maker = await replay(() => ({ source: 'made for the test', json: { images: [image] } }));
  await expect(maker.call('image', { prompt: 'x' }, model)).rejects.toThrow();
  expect(maker.requests).toHaveLength(1);
});

it('reports a refusal of the prompt as a refusal', async () => {
  const maker = await replay(() => read('refused'));
  const { status, json } = await maker.call('image', { prompt: 'x' }, model);
  expect([status, json().error]).toMatchObject([
    422,
    { message: expect.stringContaining('content checker') },
  ]);
});

it('a refused key of ours is not an error of the request', async () => {
  const maker = await replay(() => read('bad-key'));
  expect(await maker.call('image', { prompt: 'x' }, model)).toMatchObject({ status: 401 });
});
