// Tests video makers over the AI SDK against documented answers on a real HTTP server: the start request, the status
// checks, and every final state.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { upstream as upstreamSchema } from '@switchyard/contracts';
import { createEgress } from '@switchyard/egress';
import { freePort } from '@switchyard/local';
import { afterEach, describe, expect, test } from 'vitest';
import { createMakersAgent } from '../../http/makers-agent.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { fal } from '../fal/index.ts';
import { google } from '../google/index.ts';
import { replicate } from '../replicate/index.ts';
import { xai } from '../xai/index.ts';
import { aiSdkVideos } from './ai-sdk-videos.ts';
import { type VideoJob, VideoNotTaken, type VideoProgress } from './video-maker.ts';

interface Answer {
  location?: string;
  status?: number;
  json?: unknown;
  bytes?: Buffer;
  /** The connection is lost before the answer, or in its middle. */
  lost?: 'before' | 'in the middle';
}

interface Seen {
  method: string;
  path: string;
  headers: Record<string, unknown>;
  json: Record<string, unknown>;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const VIDEO = Buffer.from('the video');
const JOB: VideoJob = {
  id: 'vid_1',
  prompt: 'A cat',
  duration: 8,
  resolution: '720p',
  aspectRatio: '9:16',
  generateAudio: true,
  image: { mediaType: 'image/png', bytes: Buffer.from('picture') },
  seed: 7,
  providerOptions: {},
  further: {},
};

/**
 * A maker behind a server that sends these answers in turn and repeats the last; `{origin}` is the server's address.
 */
async function replayed(declaration: MakerDeclaration, model: string, answers: Answer[]) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const { method = '', url = '', headers } = request;
    seen.push({ method, path: url, headers, json: text === '' ? {} : JSON.parse(text) });
    const answer = answers[seen.length - 1] ?? answers.at(-1);
    const drop = () => void response.destroy();
    if (answer?.lost === 'before') return drop();
    response.writeHead(answer?.status ?? 200, {
      'content-type': answer?.bytes ? 'video/mp4' : 'application/json',
      ...(answer?.location ? { location: answer.location } : {}),
    });
    if (answer?.lost) return void response.write('{"video":', drop);
    response.end(answer?.bytes ?? JSON.stringify(answer?.json).replaceAll('{origin}', origin));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dispatcher = createMakersAgent();
  closers.push(async () => {
    await dispatcher.destroy();
    server.close();
    await once(server, 'close');
  });
  const maker = aiSdkVideos(declaration, {
    ...{ secret: () => 'a key of ours', dispatcher, egress: createEgress(), now: Date.now },
  });
  const upstream = upstreamSchema.parse({ adapter: declaration.name, base_url: origin, model });
  const signal = new AbortController().signal;
  return {
    seen,
    start: (job: Partial<VideoJob> = {}) => maker.start(upstream, { ...JOB, ...job }, signal),
    look: (job: string) =>
      maker.status({ id: 'vid_1', upstream, job }, () => Promise.reject(new Error('not needed')), signal),
    origin,
  };
}

async function bytesOf(progress: VideoProgress): Promise<string> {
  if (progress.state !== 'completed') throw new Error(`it is ${progress.state}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of progress.bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('google', () => {
  // https://ai.google.dev/gemini-api/docs/video: predictLongRunning, and the operation until it is done.
  const operation = { name: 'models/veo-3.1-generate-preview/operations/op1' };
  const done = {
    ...operation,
    done: true,
    response: {
      generateVideoResponse: { generatedSamples: [{ video: { uri: '{origin}/files/f1:download' } }] },
    },
  };

  test('is started with Google’s own field names, and provider_options in its parameters', async () => {
    const maker = await replayed(google, 'veo-3.1-generate-preview', [{ json: operation }]);
    const job = await maker.start({
      providerOptions: { parameters: { negativePrompt: 'dogs', enhancePrompt: null } },
    });
    expect(JSON.parse(job)).toEqual({ operationName: operation.name });
    const [sent] = maker.seen;
    expect(sent?.path).toBe('/models/veo-3.1-generate-preview:predictLongRunning');
    expect(sent?.headers['x-goog-api-key']).toBe('a key of ours');
    expect(sent?.headers['idempotency-key']).toBe('vid_1');
    expect(sent?.json).toEqual({
      instances: [
        {
          prompt: 'A cat',
          image: { mimeType: 'image/png', bytesBase64Encoded: Buffer.from('picture').toString('base64') },
        },
      ],
      parameters: {
        sampleCount: 1,
        aspectRatio: '9:16',
        resolution: '720p',
        durationSeconds: 8,
        seed: 7,
        negativePrompt: 'dogs',
        enhancePrompt: null,
      },
    });
  });

  test('is polled until it is done, and its file is fetched', async () => {
    const maker = await replayed(google, 'veo', [{ json: operation }, { json: done }, { bytes: VIDEO }]);
    const job = JSON.stringify({ operationName: operation.name });
    expect(await maker.look(job)).toEqual({ state: 'pending' });
    expect(await bytesOf(await maker.look(job))).toBe('the video');
    expect(maker.seen.map(({ path }) => path.split('?')[0])).toEqual([
      `/${operation.name}`,
      `/${operation.name}`,
      '/files/f1:download',
    ]);
  });

  test('may end without a video: by an error, or blocked by its filters', async () => {
    const error = { ...operation, done: true, error: { code: 13, message: 'internal' } };
    const blocked = { ...operation, done: true, response: { generateVideoResponse: {} } };
    const maker = await replayed(google, 'veo', [{ json: error }, { json: blocked }]);
    const job = JSON.stringify({ operationName: operation.name });
    expect(await maker.look(job)).toMatchObject({
      state: 'failed',
      message: expect.stringMatching('internal'),
    });
    expect(await maker.look(job)).toMatchObject({ state: 'failed' });
  });

  test('is not accepted after a refusal or an outage, but only the outage allows a fallback', async () => {
    const refusal = {
      error: { code: 400, message: 'durationSeconds must be 4, 6 or 8', status: 'INVALID_ARGUMENT' },
    };
    const trouble = { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } };
    const maker = await replayed(google, 'veo', [
      { status: 400, json: refusal },
      { status: 503, json: trouble },
      { status: 503, json: trouble },
    ]);
    const first = await maker.start().catch((error: unknown) => error);
    expect(first).toBeInstanceOf(VideoNotTaken);
    expect((first as VideoNotTaken).failure).toMatchObject({ status: 400, kind: 'rejected' });
    const second = await maker.start().catch((error: unknown) => error);
    expect((second as VideoNotTaken).failure).toMatchObject({ status: 503, kind: 'fault' });
    await expect(maker.look(JSON.stringify({ operationName: 'operations/x' }))).rejects.toThrow('503');
  });

  test('may be accepted when a proxy waits no longer for the maker', async () => {
    const maker = await replayed(google, 'veo', [{ status: 504, json: {} }]);
    const error = await maker.start().catch((one: unknown) => one);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(VideoNotTaken);
  });

  test('is not accepted when the maker is unreachable, but may be accepted after a hang-up', async () => {
    const maker = await replayed(google, 'veo', [{ json: operation }]);
    const nobody = aiSdkVideos(google, {
      ...{ secret: () => 'k', dispatcher: createMakersAgent(), egress: createEgress(), now: Date.now },
    });
    const upstream = upstreamSchema.parse({
      adapter: 'google',
      base_url: `http://127.0.0.1:${await freePort()}`,
      model: 'veo',
    });
    const signal = new AbortController().signal;
    await expect(nobody.start(upstream, JOB, signal)).rejects.toBeInstanceOf(VideoNotTaken);
    const hanging = createServer((_request, response) => response.destroy()).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const base_url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
    const error = await nobody.start({ ...upstream, base_url }, JOB, signal).catch((one: unknown) => one);
    expect(error).not.toBeInstanceOf(VideoNotTaken);
    expect(error).toBeInstanceOf(Error);
    hanging.close();
    expect(maker.seen).toEqual([]);
  });
});

describe('xai', () => {
  // https://docs.x.ai/docs/guides/video-generation: a request id, and the video when its status is done.
  test('is started with its own names and the caller’s further fields, and fetched when it is done', async () => {
    const maker = await replayed(xai, 'grok-imagine-video', [
      { json: { request_id: 'r1' } },
      { json: { status: 'pending' } },
      { json: { status: 'done', video: { url: '{origin}/v.mp4', duration: 8, respect_moderation: true } } },
      { bytes: VIDEO },
    ]);
    const job = await maker.start({
      seed: null,
      providerOptions: { user: 'u1', storage: { days: 1 } },
      further: { style: 'noir', user: 'overridden' },
    });
    expect(JSON.parse(job)).toEqual({ requestId: 'r1' });
    expect(maker.seen[0]?.path).toBe('/videos/generations');
    expect(maker.seen[0]?.headers.authorization).toBe('Bearer a key of ours');
    expect(maker.seen[0]?.json).toMatchObject({
      model: 'grok-imagine-video',
      prompt: 'A cat',
      duration: 8,
      aspect_ratio: '9:16',
      resolution: '720p',
      generate_audio: true,
      user: 'u1',
      storage: { days: 1 },
      style: 'noir',
    });
    expect(await maker.look(job)).toEqual({ state: 'pending' });
    expect(await bytesOf(await maker.look(job))).toBe('the video');
  });

  test.each([
    ['blocked', { status: 'done', video: { url: 'x', respect_moderation: false } }],
    ['failed', { status: 'failed', error: { code: 'internal', message: 'it failed' } }],
    ['expired', { status: 'expired' }],
  ])('that was %s has no video', async (_how, json) => {
    const maker = await replayed(xai, 'grok-imagine-video', [{ json }]);
    expect(await maker.look(JSON.stringify({ requestId: 'r1' }))).toMatchObject({ state: 'failed' });
  });
});

describe('replicate', () => {
  // https://replicate.com/docs/reference/http#predictions.create
  const prediction = (more: object) => ({ id: 'p1', urls: { get: '{origin}/predictions/p1' }, ...more });

  test('is started under its input, provider_options.input merged into it, and fetched when it succeeded', async () => {
    const maker = await replayed(replicate, 'minimax/video-01', [
      { status: 201, json: prediction({ status: 'starting' }) },
      { json: prediction({ status: 'processing' }) },
      { json: prediction({ status: 'succeeded', output: '{origin}/out.mp4' }) },
      { bytes: VIDEO },
    ]);
    const job = await maker.start({ providerOptions: { input: { prompt_optimizer: false } } });
    expect(maker.seen[0]?.path).toBe('/models/minimax/video-01/predictions');
    expect(maker.seen[0]?.json.input).toMatchObject({
      prompt: 'A cat',
      duration: 8,
      aspect_ratio: '9:16',
      size: '720x1280',
      seed: 7,
      prompt_optimizer: false,
    });
    expect(await maker.look(job)).toEqual({ state: 'pending' });
    expect(await bytesOf(await maker.look(job))).toBe('the video');
  });

  test.each(['failed', 'canceled'])('that %s has no video', async (status) => {
    const maker = await replayed(replicate, 'minimax/video-01', [
      { json: prediction({ status, error: 'NSFW' }) },
    ]);
    const job = JSON.stringify({ getUrl: `${maker.origin}/predictions/p1` });
    expect(await maker.look(job)).toMatchObject({ state: 'failed' });
  });
});

test('at a private address outside its maker’s origin is not fetched', async () => {
  const output = 'http://169.254.169.254/latest/meta-data/out.mp4';
  const done = { id: 'p1', urls: { get: '{origin}/p1' }, status: 'succeeded', output };
  const maker = await replayed(replicate, 'minimax/video-01', [{ json: done }]);
  const job = JSON.stringify({ getUrl: `${maker.origin}/predictions/p1` });
  await expect(maker.look(job)).rejects.toMatchObject({ code: 'url_not_allowed' });
  const away = JSON.stringify({ getUrl: 'http://10.0.0.1/predictions/p1' });
  await expect(maker.look(away)).rejects.toThrow();
  expect(maker.seen.map(({ path }) => path)).toEqual(['/predictions/p1']);
});

test('redirected to another host is not fetched, neither its status nor the video', async () => {
  const away = { status: 302, json: {}, location: 'http://127.0.0.1:9/taken' };
  const done = { id: 'p1', urls: { get: '{origin}/p1' }, status: 'succeeded', output: '{origin}/out.mp4' };
  const maker = await replayed(replicate, 'minimax/video-01', [away, { json: done }, away]);
  const job = JSON.stringify({ getUrl: `${maker.origin}/predictions/p1` });
  await expect(maker.look(job)).rejects.toThrow('redirects to another host');
  await expect(maker.look(job)).rejects.toThrow('redirects to another host');
  expect(maker.seen.map(({ path }) => path)).toEqual(['/predictions/p1', '/predictions/p1', '/out.mp4']);
});

describe('fal', () => {
  // https://docs.fal.ai/model-apis/model-endpoints/queue: 400 while it is in progress, then the model's own answer.
  test('waits in its queue, and is fetched when it is done', async () => {
    const maker = await replayed(fal, 'fal-ai/veo3', [
      { json: { request_id: 'q1', response_url: 'https://queue.fal.run/fal-ai/veo3/requests/q1' } },
      { status: 400, json: { detail: 'Request is still in progress' } },
      { json: { video: { url: '{origin}/v.mp4', content_type: 'video/mp4' } } },
      { bytes: VIDEO },
    ]);
    const job = await maker.start({ providerOptions: { negative_prompt: 'dogs' } });
    expect(maker.seen[0]?.path).toBe('/fal-ai/veo3');
    expect(maker.seen[0]?.headers.authorization).toBe('Key a key of ours');
    expect(maker.seen[0]?.json).toMatchObject({
      prompt: 'A cat',
      duration: '8s',
      aspect_ratio: '9:16',
      resolution: '720p',
      generate_audio: true,
      seed: 7,
      negative_prompt: 'dogs',
    });
    expect(await maker.look(job)).toEqual({ state: 'pending' });
    expect(await bytesOf(await maker.look(job))).toBe('the video');
  });

  test.each<[string, Answer]>([
    ['lost', { lost: 'before' }],
    ['cut', { lost: 'in the middle' }],
    ['401', { status: 401, json: { detail: 'Cannot access application' } }],
    ['403', { status: 403, json: { detail: 'User is locked' } }],
  ])('is not ended by a status check whose answer is %s', async (_answer, answer) => {
    const maker = await replayed(fal, 'fal-ai/veo3', [answer]);
    const url = `${maker.origin}/fal-ai/veo3`;
    const job = JSON.stringify({ responseUrl: `${url}/requests/q1`, submitUrl: url });
    await expect(maker.look(job)).rejects.toThrow();
    expect(maker.seen).toHaveLength(1);
  });

  test('is ended by an error of the job itself', async () => {
    const refused = { status: 422, json: { detail: [{ msg: 'content policy' }] } };
    const maker = await replayed(fal, 'fal-ai/veo3', [refused]);
    const url = `${maker.origin}/fal-ai/veo3`;
    const job = JSON.stringify({ responseUrl: `${url}/requests/q1`, submitUrl: url });
    expect(await maker.look(job)).toMatchObject({ state: 'failed' });
  });
});
