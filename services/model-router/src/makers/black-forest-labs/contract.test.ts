// The images of Black Forest Labs, replayed: a job is started, polled and fetched.
import { describe, expect, it } from 'vitest';
import { type Answering, replaysOf, type WireRequest } from '../__fixtures__/replayed-maker.ts';
import { blackForestLabs } from './index.ts';

const { read, replay } = replaysOf(blackForestLabs, import.meta.dirname);

/** A job that is pending once, and then in the state of that fixture. */
const job = (end: string): Answering => {
  let looks = 0;
  return ({ method, path }) => {
    if (method === 'POST') return read('submitted');
    if (path.startsWith('/results')) return read('image');
    looks += 1;
    return read(looks === 1 ? 'pending' : end);
  };
};
const posts = (requests: WireRequest[]) => requests.filter(({ method }) => method === 'POST');

it('starts the requested job, waits for it, and gives the image as base64', async () => {
  const maker = await replay(job('ready'));
  const body = {
    prompt: 'a kitten',
    size: '1024x768',
    seed: 42,
    provider_options: { safety_tolerance: 6, new: [1] },
  };
  const { status, json } = await maker.call('image', body, { model: 'flux-pro-1.1' });
  expect(status).toBe(200);
  expect(json()).toMatchObject({ data: [{ b64_json: read('image').base64 }], usage: {} });
  const [submitted, ...looked] = maker.requests;
  expect(submitted?.path).toBe('/flux-pro-1.1');
  expect(submitted?.headers['x-key']).toBe('a key of ours');
  expect(submitted?.json()).toEqual({
    prompt: 'a kitten',
    width: 1024,
    height: 768,
    seed: 42,
    safety_tolerance: 6,
    new: [1],
  });
  expect(looked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /v1/get_result',
    'GET /v1/get_result',
    'GET /results/sample.png',
  ]);
});

it('starts a job for each image, each with a seed of its own', async () => {
  const maker = await replay(job('ready'));
  const body = { prompt: 'a kitten', n: 3, seed: 42, aspect_ratio: '16:9' };
  const { json } = await maker.call('image', body, { model: 'flux-kontext-pro' });
  expect(json().data).toHaveLength(3);
  const sent = posts(maker.requests).map((request) => request.json());
  expect(sent.map(({ seed }) => seed).sort()).toEqual([42, 43, 44]);
  expect(sent[0]?.aspect_ratio).toBe('16:9');
});

it('reports a moderated prompt as a refusal, at once', async () => {
  const maker = await replay(job('moderated'));
  const { status, json } = await maker.call('image', { prompt: 'x' }, { model: 'flux-pro-1.1' });
  expect([status, json().error]).toMatchObject([
    400,
    { kind: 'rejected', message: expect.stringMatching(/^the maker refused the content/) },
  ]);
});

it('reports once that the maker has the job, and hangs up when the attempt ends', async () => {
  const looking = Promise.withResolvers<WireRequest>();
  const maker = await replay(async (request) => {
    if (request.method === 'POST') return read('submitted');
    looking.resolve(request);
    await request.gone;
    return read('pending');
  });
  const exchange = maker.start('image', { prompt: 'a kitten' });
  const look = await looking.promise;
  exchange.abort();
  await look.gone;
  expect(exchange.heard).toEqual(['accepted']);
});

describe('errors', () => {
  it('an account of ours without credits is not an error of the request', async () => {
    const maker = await replay(() => read('no-credits'));
    expect(await maker.call('image', { prompt: 'x' })).toMatchObject({ status: 402 });
  });

  it('reports an invalid request with the maker’s message', async () => {
    const maker = await replay(() => read('invalid'));
    const { status, json } = await maker.call('image', { prompt: 'x', size: '1000x768' });
    expect([status, json().error]).toMatchObject([
      422,
      { message: expect.stringContaining('multiple of 32') },
    ]);
  });
});
