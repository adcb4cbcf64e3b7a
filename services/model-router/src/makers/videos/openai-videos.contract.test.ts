// Upstreams in OpenAI's shape of videos (https://platform.openai.com/docs/api-reference/videos), on a real HTTP server.
import { upstream as upstreamSchema } from '@switchyard/contracts';
import { createEgress } from '@switchyard/egress';
import { startUpstream, type Upstream, type UpstreamHandler } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMakersAgent } from '../../http/makers-agent.ts';
import { openAiVideos } from './openai-videos.ts';
import { type VideoJob, VideoNotTaken, type VideoProgress } from './video-maker.ts';
import { videoSize } from './video-size.ts';

const VIDEO = Buffer.from('the video');
const JOB: VideoJob = {
  id: 'vid_1',
  prompt: 'A cat',
  duration: 8,
  resolution: null,
  aspectRatio: null,
  generateAudio: null,
  image: null,
  seed: null,
  providerOptions: {},
  further: {},
};
const signal = new AbortController().signal;
const dispatcher = createMakersAgent();
const maker = openAiVideos({
  secret: (name) => (name === 'ACME_KEY' ? 'a key of ours' : undefined),
  dispatcher,
  egress: createEgress(),
  now: Date.now,
});

let server: Upstream;
beforeAll(async () => {
  server = await startUpstream();
});
afterAll(async () => {
  await dispatcher.destroy();
  await server?.close();
});

const upstream = (more: object = {}) =>
  upstreamSchema.parse({
    adapter: 'openai-compatible',
    base_url: server.url,
    model: 'sora-2',
    api_key_env: 'ACME_KEY',
    ...more,
  });
const answers =
  (value: unknown, status = 200): UpstreamHandler =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
const look = () => maker.status({ id: 'vid_1', upstream: upstream(), job: 'video_123' }, noInput, signal);
const noInput = () => Promise.reject(new Error('not needed'));

async function bytesOf(progress: VideoProgress): Promise<string> {
  if (progress.state !== 'completed') throw new Error(`it is ${progress.state}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of progress.bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a redirect to another host', () => {
  let elsewhere: Upstream;
  beforeAll(async () => {
    elsewhere = await startUpstream();
  });
  afterAll(() => elsewhere?.close());
  const redirected: UpstreamHandler = (_request, response) =>
    void response.writeHead(302, { location: `${elsewhere.url}/videos/taken` }).end();

  test('is not followed by a start, a status check or a download', async () => {
    const byPath: Record<string, UpstreamHandler> = {};
    server.on('', (request, response) => byPath[request.path]?.(request, response));
    server.on('sora-2', redirected);
    await expect(maker.start(upstream(), JOB, signal)).rejects.toThrow('redirects to another host');
    await server.request('sora-2');
    byPath['/v1/videos/video_123'] = redirected;
    await expect(look()).rejects.toThrow('redirects to another host');
    byPath['/v1/videos/video_123'] = answers({ id: 'video_123', status: 'completed' });
    byPath['/v1/videos/video_123/content'] = redirected;
    await expect(look()).rejects.toThrow('redirects to another host');
    const videos = [{ url: '/v1/elsewhere' }];
    byPath['/v1/videos/video_123'] = answers({ id: 'video_123', status: 'completed', videos });
    byPath['/v1/elsewhere'] = redirected;
    await expect(look()).rejects.toThrow('redirects to another host');
    expect(elsewhere.requests).toEqual([]);
  });
});

describe('a start', () => {
  test('has only the caller’s fields, under our key and the job’s own', async () => {
    server.on('sora-2', answers({ id: 'video_123', object: 'video', status: 'queued', progress: 0 }));
    expect(await maker.start(upstream(), JOB, signal)).toBe('video_123');
    const sent = await server.request('sora-2');
    expect([sent.method, sent.path]).toEqual(['POST', '/v1/videos']);
    expect(sent.headers).toMatchObject({ authorization: 'Bearer a key of ours', 'idempotency-key': 'vid_1' });
    expect(sent.json).toEqual({ model: 'sora-2', prompt: 'A cat', seconds: '8', duration: 8 });
  });

  test('has the caller’s further fields and options unchanged, and its first frame in both fields', async () => {
    const job: VideoJob = {
      ...JOB,
      resolution: '1080p',
      image: { mediaType: 'image/jpeg', bytes: Buffer.from('picture') },
      providerOptions: { a: { b: [null, 1] } },
      further: { style: 'noir' },
    };
    await maker.start(upstream(), job, signal);
    const image = `data:image/jpeg;base64,${Buffer.from('picture').toString('base64')}`;
    expect((await server.request('sora-2')).json).toEqual({
      model: 'sora-2',
      prompt: 'A cat',
      seconds: '8',
      duration: 8,
      size: '1920x1080',
      resolution: '1080p',
      image,
      input_reference: { image_url: image },
      provider_options: { a: { b: [null, 1] } },
      style: 'noir',
    });
  });

  test.each([
    [400, { error: { message: 'seconds must be 4, 8 or 12', code: 'invalid_value' } }, 'rejected'],
    [400, { error: { message: 'no', code: 'content_policy_violation' } }, 'rejected'],
    [401, { error: { message: 'bad key sk-123' } }, 'fault'],
    [404, { error: { message: 'no such model' } }, 'fault'],
    [429, { error: { message: 'slow down' } }, 'rate_limited'],
    [500, { error: { message: 'oops' } }, 'fault'],
  ])('that is answered with %i was not taken', async (status, value, kind) => {
    server.on('sora-no', answers(value, status));
    const error = await maker.start(upstream({ model: 'sora-no' }), JOB, signal).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(VideoNotTaken);
    expect((error as VideoNotTaken).failure).toMatchObject({ status, kind });
    expect((error as VideoNotTaken).message).not.toContain('sk-123');
  });

  test('that is answered with a long page of an error was not taken', async () => {
    server.on('sora-no', answers('x'.repeat(100_000), 503));
    const failed = maker.start(upstream({ model: 'sora-no' }), JOB, signal);
    await expect(failed).rejects.toBeInstanceOf(VideoNotTaken);
  });

  test.each<[string, UpstreamHandler]>([
    ['hangs up', (_request, response) => void response.destroy()],
    ['answers without an id', answers({ object: 'video' })],
    ['answers no JSON', (_request, response) => void response.end('<html>')],
    ['answers too late', () => {}],
    ['is behind a proxy that waits no longer', answers({}, 504)],
  ])('whose upstream %s may have been taken', async (_what, handler) => {
    server.on('sora-odd', handler);
    const odd = upstream({ model: 'sora-odd', attempt_timeout_ms: 100 });
    const error = await maker.start(odd, JOB, signal).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(VideoNotTaken);
  });

  test('may be repeated only if the catalog says that starts are idempotent', () => {
    expect(maker.startIsIdempotent(upstream())).toBe(false);
    expect(maker.startIsIdempotent(upstream({ idempotent_starts: true }))).toBe(true);
  });
});

describe('polling', () => {
  test.each(['queued', 'in_progress', 'pending', 'processing'])('a job that is %s', async (status) => {
    server.on('', answers({ id: 'video_123', status }));
    expect(await look()).toEqual({ state: 'pending' });
  });

  test('a completed job fetches its content', async () => {
    server.on('', (request, response) => {
      if (request.path === '/v1/videos/video_123/content')
        return void response.writeHead(200, { 'content-type': 'video/webm' }).end(VIDEO);
      return answers({ id: 'video_123', status: 'completed' })(request, response);
    });
    const progress = await look();
    expect(progress).toMatchObject({ state: 'completed', mediaType: 'video/webm' });
    expect(await bytesOf(progress)).toBe('the video');
  });

  test('takes an included video, by URL or in base64; its URL is requested without our key', async () => {
    server.on('', (request, response) => {
      if (request.path === '/elsewhere.mp4') return void response.end(VIDEO);
      const videos = [{ media_type: 'video/mp4', url: '/elsewhere.mp4' }];
      return answers({ id: 'video_123', status: 'completed', videos })(request, response);
    });
    expect(await bytesOf(await look())).toBe('the video');
    expect(server.requests.at(-1)?.headers.authorization).toBeUndefined();
    const videos = [{ media_type: 'video/mp4', b64_json: VIDEO.toString('base64') }];
    server.on('', answers({ id: 'video_123', status: 'completed', videos }));
    expect(await bytesOf(await look())).toBe('the video');
  });

  test.each([
    ['text/html', 'video/mp4'],
    ['video/mp4\r\nset-cookie: a=b', 'video/mp4'],
    ['Video/WebM; codecs="vp9"', 'video/webm'],
  ])('stores only video media types: %j is %s', async (media_type, mediaType) => {
    const videos = [{ media_type, b64_json: VIDEO.toString('base64') }];
    server.on('', answers({ id: 'video_123', status: 'completed', videos }));
    expect(await look()).toMatchObject({ state: 'completed', mediaType });
  });

  test.each([
    [{ status: 'failed', error: { code: 'x', message: 'rendering failed' } }, 'rendering failed'],
    [{ status: 'cancelled' }, 'The maker ended the job with status cancelled.'],
    [{ status: 'expired', error: null }, 'The maker ended the job with status expired.'],
  ])('a failed job gives the reason: %o', async (value, message) => {
    server.on('', answers({ id: 'video_123', ...value }));
    expect(await look()).toEqual({ state: 'failed', message });
  });

  test('a job that the upstream does not know ends it; an error of the upstream does not', async () => {
    server.on('', answers({ error: { message: 'no' } }, 404));
    expect(await look()).toMatchObject({ state: 'failed' });
    server.on('', answers({ error: { message: 'no' } }, 503));
    await expect(look()).rejects.toThrow('503');
  });
});

test('a cancel is a DELETE', async () => {
  server.on('', answers({}));
  await maker.cancel?.({ id: 'vid_1', upstream: upstream(), job: 'video/123' }, signal);
  expect(server.requests.at(-1)).toMatchObject({ method: 'DELETE', path: '/v1/videos/video%2F123' });
});

test.each([
  ['720p', null, { width: 1280, height: 720 }],
  ['720p', '9:16', { width: 720, height: 1280 }],
  ['480p', '16:9', { width: 854, height: 480 }],
  ['1080p', '1:1', { width: 1080, height: 1080 }],
  ['1080p', '4:3', { width: 1440, height: 1080 }],
  ['640x360', '9:16', { width: 640, height: 360 }],
  [null, '9:16', null],
])('%s in %s is %o', (resolution, ratio, size) => {
  expect(videoSize(resolution, ratio)).toEqual(size);
});
