/** Videos through the whole stack: from the request to an MP4 that other programs decode, and the bill. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorBody, logEntry, usageReport, videoList, videoObject } from '@switchyard/contracts';
import {
  type CatalogEntry,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  untilMidnightIsFar,
  writeTestCatalog,
} from '@switchyard/testing';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { untilBooked } from './__fixtures__/until-booked.ts';

const hasFfmpeg = !spawnSync('ffmpeg', ['-version']).error;
const DONE_WITHIN_MS = 60_000;
const MP4 = Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42'), Buffer.alloc(300_000, 7)]);
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==',
  'base64',
);

let stack: TestStack;
let upstream: Upstream;
let callbacks: Callbacks;

const videoModel = (id: string, extra: Partial<CatalogEntry> = {}): CatalogEntry => ({
  id: `acme/${id}`,
  type: 'video',
  name: id,
  modalities: { input: ['text', 'image'], output: ['video'] },
  pricing: { second: { '480p': '0.05', '720p': '0.10', '1080p': '0.20' } },
  upstreams: [{ adapter: 'openai-compatible', base_url: upstream.url, model: id }],
  ...extra,
});

beforeAll(async () => {
  upstream = await startUpstream();
  callbacks = await startCallbacks();
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [
      videoModel('video-ok'),
      videoModel('video-fails'),
      videoModel('video-refuses'),
      videoModel('video-busy'),
      videoModel('video-endless'),
      videoModel('video-cheap', { pricing: { second: { '480p': '0.01' } } }),
      videoModel('video-limits', {
        modalities: { input: ['text'], output: ['video'] },
        limits: {
          durations: [4, 8],
          resolutions: ['720p', '1280x720'],
          aspect_ratios: ['16:9'],
          audio: false,
          default_resolution: '720p',
        },
      }),
      videoModel('video-no-key', {
        upstreams: [
          { adapter: 'openai-compatible', base_url: upstream.url, model: 'x', api_key_env: 'ACME_NO_KEY' },
        ],
      }),
    ],
  });
  behave();
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: catalog, SWITCHYARD_EGRESS_ALLOW: `127.0.0.1:${callbacks.port}` },
    services: ['edge', 'control', 'model-router', 'video-worker', 'billing'],
  });
});

afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
  await callbacks?.close();
});

/** The upstream in OpenAI's shape: each model by its name. Polls carry no model, so all paths are handled here. */
function behave(): void {
  const json = (status: number, value: unknown) => ({ status, value });
  const starts: Record<string, (id: string) => { status: number; value: unknown }> = {
    'video-refuses': () => json(400, { error: { message: 'no such thing may be shown', code: 'bad' } }),
    'video-busy': () => json(503, { error: { message: 'too busy' } }),
  };
  for (const model of [
    'video-ok',
    'video-fails',
    'video-refuses',
    'video-busy',
    'video-endless',
    'video-cheap',
    'video-limits',
  ])
    upstream.on(model, (request, response) => {
      const id = `${model}_${request.headers['idempotency-key']}`;
      const { status, value } = starts[model]?.(id) ?? json(200, { id, object: 'video', status: 'queued' });
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    });
  upstream.on('', ({ path, method }, response) => {
    if (path.endsWith('/content'))
      return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(MP4);
    const id = path.slice(path.lastIndexOf('/') + 1);
    const polls = upstream.requests.filter((one) => one.path === path && one.method === 'GET').length;
    const ended = id.startsWith('video-fails')
      ? { status: 'failed', error: { message: 'the model lost the plot' } }
      : { status: 'completed' };
    const pending = id.startsWith('video-endless') || polls < 2;
    const value = { id, object: 'video', ...(pending ? { status: 'in_progress' } : ended) };
    if (method === 'DELETE') cancelled.push(id);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  });
}
const cancelled: string[] = [];

async function call(method: string, path: string, body?: unknown, key = stack.key) {
  const response = await fetch(path.startsWith('http') ? path : `${stack.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, json: await response.json() };
}

const start = (body: object) =>
  call('POST', '/v1/videos/generations', { prompt: 'Two red balloons', duration: 4, ...body });

async function startOne(body: object) {
  const { status, headers, json } = await start(body);
  expect(status, JSON.stringify(json)).toBe(202);
  return { ...videoObject.parse(json), headers };
}

const get = async (id: string) => videoObject.parse((await call('GET', `/v1/videos/${id}`)).json);

const ended = (id: string) =>
  vi.waitFor(
    async () => {
      const video = await get(id);
      expect(video.status).not.toBe('pending');
      return video;
    },
    { timeout: DONE_WITHIN_MS, interval: 200 },
  );

const refusal = (json: unknown) => errorBody.parse(json).error;

/** The line in Logs of a job's refund. */
async function refunded(id: string): Promise<unknown> {
  const line = async () => (await call('GET', `/v1/logs/${id}:refund`)).json;
  await expect.poll(line).toMatchObject({ kind: 'refund' });
  return line();
}

async function total() {
  await untilBooked(stack.url, stack.key);
  return usageReport.parse((await call('GET', '/v1/usage')).json).total;
}

describe('a video of a maker', () => {
  test('is a job at once, charged in full, then a file at a URL that needs no key', async () => {
    const before = await total();
    const { headers, ...job } = await startOne({ model: 'acme/video-ok', resolution: '720p' });
    expect(headers.get('x-service-cost')).toBe('0.4');
    expect(job).toEqual({
      id: expect.stringMatching(/^vid_/),
      object: 'video',
      status: 'pending',
      model: 'acme/video-ok',
      duration: 4,
      resolution: '720p',
      created_at: expect.any(String),
      usage: { seconds: 4, cost: 0.4 },
    });
    const charged = await total();
    expect(charged.calls).toBe(before.calls + 1);
    expect(charged.cost).toBeCloseTo(before.cost + 0.4, 9);

    const done = await ended(job.id);
    expect(done).toMatchObject({ status: 'completed', usage: { seconds: 4, cost: 0.4 } });
    const { url, media_type } = done.videos?.[0] ?? { url: '', media_type: '' };
    expect(media_type).toBe('video/mp4');
    const file = await fetch(url);
    expect(file.status).toBe(200);
    expect(file.headers.get('content-type')).toBe('video/mp4');
    expect(file.headers.get('content-length')).toBe(String(MP4.length));
    expect(Buffer.from(await file.arrayBuffer()).equals(MP4)).toBe(true);

    const log = await call('GET', `/v1/logs/${headers.get('x-request-id')}`);
    expect(logEntry.parse(log.json)).toMatchObject({
      type: 'video',
      status: 'ok',
      http_status: 202,
      cost: 0.4,
      quantities: { seconds: 4 },
      model: 'acme/video-ok',
    });
    expect(await total()).toEqual(charged);
  });

  test('supports range requests, as players send them', async () => {
    const { id } = await startOne({ model: 'acme/video-ok' });
    const url = (await ended(id)).videos?.[0]?.url ?? '';
    const part = async (range: string) => {
      const response = await fetch(url, { headers: { range } });
      return { response, bytes: Buffer.from(await response.arrayBuffer()) };
    };
    const middle = await part('bytes=200000-200009');
    expect(middle.response.status).toBe(206);
    expect(middle.response.headers.get('content-range')).toBe(`bytes 200000-200009/${MP4.length}`);
    expect(middle.bytes).toEqual(MP4.subarray(200_000, 200_010));
    expect((await part('bytes=-5')).bytes).toEqual(MP4.subarray(-5));
    expect((await part('bytes=0-0')).bytes).toEqual(MP4.subarray(0, 1));
    expect((await part(`bytes=${MP4.length - 1}-`)).bytes.length).toBe(1);
    const outside = await part(`bytes=${MP4.length}-`);
    expect(outside.response.status).toBe(416);
    expect(outside.response.headers.get('content-range')).toBe(`bytes */${MP4.length}`);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(MP4.length)]);
  });

  test('is refused when its signed URL was changed', async () => {
    const { id } = await startOne({ model: 'acme/video-ok' });
    const url = new URL((await ended(id)).videos?.[0]?.url ?? '');
    const code = async (change: (params: URLSearchParams) => void) => {
      const forged = new URL(url);
      change(forged.searchParams);
      const response = await fetch(forged);
      return [response.status, refusal(await response.json()).code];
    };
    expect(await code((params) => params.set('token', 'forged'))).toEqual([403, 'url_not_valid']);
    expect(await code((params) => params.delete('token'))).toEqual([403, 'url_not_valid']);
  });

  test('that fails is refunded once: a charge and a refund in the logs, nothing in the total', async () => {
    const before = await total();
    const { id } = await startOne({ model: 'acme/video-fails', resolution: '1080p' });
    const failed = await ended(id);
    expect(failed).toMatchObject({
      status: 'failed',
      error: { code: 'video_failed', message: 'the model lost the plot' },
      usage: { seconds: 0, cost: 0 },
    });
    expect(await refunded(id)).toMatchObject({ cost: -0.8, quantities: { seconds: -4 } });
    const after = await total();
    expect(after.cost).toBeCloseTo(before.cost, 9);
    expect(after.quantities.seconds ?? 0).toBe(before.quantities.seconds ?? 0);
  });

  test('fails without a fallback when the maker refuses the request', async () => {
    const { id } = await startOne({ models: ['acme/video-refuses', 'acme/video-ok'] });
    expect(await ended(id)).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_rejected', message: 'no such thing may be shown' },
      usage: { cost: 0 },
    });
    await refunded(id); // otherwise the next test would see it
  });

  test('falls back until a maker accepts it; a cheaper one refunds the difference', async () => {
    const before = await total();
    const { id, usage } = await startOne({
      model: 'acme/video-busy',
      models: ['acme/video-cheap'],
      resolution: '480p',
    });
    expect(usage.cost).toBe(0.2);
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      model: 'acme/video-cheap',
      usage: { seconds: 4, cost: 0.04 },
    });
    await expect.poll(async () => (await total()).cost).toBeCloseTo(before.cost + 0.04, 9);
  });

  test('without a resolution, or with a custom size, is charged at the highest rate', async () => {
    expect((await startOne({ model: 'acme/video-ok' })).usage.cost).toBe(0.8);
    expect((await startOne({ model: 'acme/video-ok', resolution: '640x640' })).usage.cost).toBe(0.8);
    expect((await startOne({ model: 'acme/video-limits' })).resolution).toBe('720p');
  });

  test('sends the caller’s words unchanged, with the job’s own Idempotency-Key and provider_options', async () => {
    const provider_options = { motion: { strength: 0.8 }, list: [1, null] };
    const image = `data:image/png;base64,${PNG.toString('base64')}`;
    const { id } = await startOne({
      model: 'acme/video-ok',
      prompt: 'word for word',
      resolution: '720p',
      aspect_ratio: '9:16',
      generate_audio: true,
      seed: 7,
      image,
      provider_options,
      further: 'field',
    });
    await ended(id);
    const sent = upstream.requests.find((one) => one.json?.prompt === 'word for word');
    expect(sent?.headers['idempotency-key']).toBe(id);
    expect(sent?.json).toMatchObject({
      model: 'video-ok',
      seconds: '4',
      duration: 4,
      size: '720x1280',
      resolution: '720p',
      aspect_ratio: '9:16',
      generate_audio: true,
      seed: 7,
      image,
      provider_options,
      further: 'field',
    });
  });
});

describe('a request', () => {
  test.each([
    ['no duration', { duration: undefined }, 'duration'],
    ['0 seconds', { duration: 0 }, 'duration'],
    ['61 seconds', { duration: 61 }, 'duration'],
    ['half seconds', { duration: 1.5 }, 'duration'],
    ['no prompt', { prompt: '' }, 'prompt'],
    ['an unknown resolution', { resolution: '4k' }, 'resolution'],
    ['a ratio of another form', { aspect_ratio: 'wide' }, 'aspect_ratio'],
    ['a ratio that contradicts the size', { resolution: '100x100', aspect_ratio: '16:9' }, 'aspect_ratio'],
    ['an image that is no URL', { image: 'cat.png' }, 'image'],
    ['an image that is no picture', { image: 'data:image/png;base64,aGVsbG8=' }, 'image'],
    ['a data URL without base64', { image: 'data:image/png,abc' }, 'image'],
    ['a callback that is no URL', { callback_url: 'here' }, 'callback_url'],
    ['more than one video', { n: 2 }, 'n'],
    ['no model', { model: undefined }, 'model'],
    ['a length the model does not make', { model: 'acme/video-limits', duration: 5 }, 'duration'],
    ['a resolution it does not make', { model: 'acme/video-limits', resolution: '480p' }, 'resolution'],
    ['a ratio it does not take', { model: 'acme/video-limits', aspect_ratio: '1:1' }, 'aspect_ratio'],
    ['sound of a silent model', { model: 'acme/video-limits', generate_audio: true }, 'generate_audio'],
    [
      'a first frame for a model of texts',
      { model: 'acme/video-limits', image: `data:image/png;base64,${PNG.toString('base64')}` },
      'image',
    ],
    ['another model for the maker', { provider_options: { model: 'dear' } }, 'provider_options.model'],
    [
      'another length for the maker',
      { provider_options: { parameters: { durationSeconds: 60 } } },
      'provider_options.parameters.durationSeconds',
    ],
    ['another size among the further fields', { size: '3840x2160' }, 'size'],
  ])('with %s is refused, naming the field, and costs nothing', async (_what, body, param) => {
    const { status, json } = await start({ model: 'acme/video-ok', ...body });
    expect(status).toBe(400);
    expect(refusal(json)).toMatchObject({ code: 'invalid_request', param });
  });

  test('at the limits is accepted: 1 and 60 seconds; an incapable fallback is left out', async () => {
    expect((await startOne({ model: 'acme/video-ok', duration: 1 })).usage.seconds).toBe(1);
    expect((await startOne({ model: 'acme/video-ok', duration: 60 })).usage.cost).toBe(12);
    const { id } = await startOne({ model: 'acme/video-ok', models: ['acme/video-limits'], duration: 5 });
    expect((await ended(id)).model).toBe('acme/video-ok');
  });

  test.each([
    ['loopback', 'http://127.0.0.1:1/cat.png'],
    ['link-local', 'http://169.254.169.254/latest/meta-data'],
    ['a private network', 'http://10.0.0.1/cat.png'],
    ['loopback in IPv6', 'http://[::1]/cat.png'],
    ['a name of loopback', 'http://localhost/cat.png'],
  ])('for an image of %s is refused before anything is charged', async (_what, image) => {
    const { status, json } = await start({ model: 'acme/video-ok', image });
    expect([status, refusal(json)]).toMatchObject([400, { code: 'url_not_allowed', param: 'image' }]);
  });

  test('downloads an image that is given by URL', async () => {
    const { id } = await startOne({
      model: 'acme/video-ok',
      prompt: 'by its address',
      image: `http://127.0.0.1:${callbacks.port}/cat.png`,
    });
    await ended(id);
    const sent = upstream.requests.find((one) => one.json?.prompt === 'by its address');
    expect(sent?.json?.image).toBe(`data:image/png;base64,${PNG.toString('base64')}`);
    const wrong = await start({
      model: 'acme/video-ok',
      image: `http://127.0.0.1:${callbacks.port}/none.png`,
    });
    expect(refusal(wrong.json)).toMatchObject({ code: 'invalid_request', param: 'image' });
  });

  test('for a model of another type, an unknown one or one without a key gets an error that says which', async () => {
    const of = async (model: string) => refusal((await start({ model })).json);
    expect(await of('local/chat')).toMatchObject({ code: 'wrong_endpoint', param: 'model' });
    expect(await of('acme/nothing')).toMatchObject({ code: 'model_not_found', param: 'model' });
    expect((await of('acme/video-no-key')).message).toContain('ACME_NO_KEY');
  });
});

describe('an org’s videos', () => {
  test('are listed page by page, newest first', async () => {
    const ids = [];
    for (let i = 0; i < 3; i += 1) ids.unshift((await startOne({ model: 'acme/video-ok' })).id);
    const first = videoList.parse((await call('GET', '/v1/videos?limit=2')).json);
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(first.has_more).toBe(true);
    const next = videoList.parse((await call('GET', `/v1/videos?limit=2&after=${first.last_id}`)).json);
    expect(next.data[0]?.id).toBe(ids[2]);
  });

  test('are deleted with their files', async () => {
    const { id } = await startOne({ model: 'acme/video-ok' });
    const url = (await ended(id)).videos?.[0]?.url ?? '';
    expect((await call('DELETE', `/v1/videos/${id}`)).json).toEqual({ id, object: 'video', deleted: true });
    expect((await call('GET', `/v1/videos/${id}`)).status).toBe(404);
    expect((await fetch(url)).status).toBe(404);
    expect(refusal((await call('DELETE', `/v1/videos/${id}`)).json).code).toBe('video_not_found');
  });

  test('that a maker is already making are stopped there when they are deleted, and stay charged', async () => {
    const before = await total();
    const { id } = await startOne({ model: 'acme/video-endless', resolution: '480p' });
    const isLookedFor = () =>
      upstream.requests.some(({ path }) => path.endsWith(`/videos/video-endless_${id}`));
    await expect.poll(isLookedFor).toBe(true);
    await call('DELETE', `/v1/videos/${id}`);
    await expect.poll(() => cancelled).toContain(`video-endless_${id}`);
    await expect.poll(async () => (await total()).cost).toBeCloseTo(before.cost + 0.2, 9);
  });

  test('with unknown ids or odd names are not found', async () => {
    for (const id of ['vid_none', '*', '%3E', 'org_default.vid_x'])
      expect(refusal((await call('GET', `/v1/videos/${id}`)).json).code).toBe('video_not_found');
  });
});

describe('a key', () => {
  beforeEach(untilMidnightIsFar);

  const keyWith = async (more: object) => {
    const body = { name: 'a test', permissions: ['models:write'], ...more };
    const { status, json } = await call('POST', '/v1/keys', body);
    expect(status, JSON.stringify(json)).toBe(201);
    return (json as { key: string }).key;
  };
  const startWith = (key: string, body: object) =>
    call('POST', '/v1/videos/generations', { prompt: 'a cat', duration: 4, ...body }, key);

  test('with a limit may spend exactly that on videos; a refund can be spent again', async () => {
    const key = await keyWith({ limit: { amount: 0.5, interval: 'day' } });
    const failing = await startWith(key, { model: 'acme/video-fails', resolution: '720p' }); // $0.40
    expect(failing.status).toBe(202);
    const second = await startWith(key, { model: 'acme/video-ok', resolution: '720p' });
    expect([second.status, refusal(second.json).code]).toEqual([402, 'budget_exceeded']);
    await ended(videoObject.parse(failing.json).id);
    await vi.waitFor(
      async () =>
        expect((await startWith(key, { model: 'acme/video-ok', resolution: '720p' })).status).toBe(202),
      { timeout: DONE_WITHIN_MS, interval: 500 },
    );
    const third = await startWith(key, { model: 'acme/video-ok', resolution: '480p', duration: 3 }); // $0.15
    expect(refusal(third.json).code).toBe('budget_exceeded');
    expect((await startWith(key, { model: 'acme/video-ok', resolution: '480p', duration: 2 })).status).toBe(
      202,
    );
  });

  test('with room for one video makes one of two that are started concurrently', async () => {
    const key = await keyWith({ limit: { amount: 0.4, interval: 'day' } });
    const one = { model: 'acme/video-ok', resolution: '720p' }; // $0.40
    const outcomes = await Promise.all([startWith(key, one), startWith(key, one)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual([202, 402]);
    const refused = outcomes.find(({ status }) => status === 402);
    expect(refusal(refused?.json).code).toBe('budget_exceeded');
  });

  test('restricted to some models makes videos with those only; other fallbacks are left out', async () => {
    const key = await keyWith({ models: ['acme/video-busy', 'acme/video-ok'] });
    const refused = await startWith(key, { model: 'acme/video-cheap' });
    expect([refused.status, refusal(refused.json).code]).toEqual([403, 'model_not_allowed']);
    const { json } = await startWith(key, {
      models: ['acme/video-busy', 'acme/video-cheap', 'acme/video-ok'],
    });
    expect((await ended(videoObject.parse(json).id)).model).toBe('acme/video-ok');
  });

  test('without the permission for models creates and sees no videos', async () => {
    const key = await keyWith({ permissions: ['usage:read'] });
    for (const [method, path] of [
      ['POST', '/v1/videos/generations'],
      ['GET', '/v1/videos'],
      ['GET', '/v1/videos/vid_1'],
      ['DELETE', '/v1/videos/vid_1'],
    ] as const) {
      const { status, json } = await call(method, path, method === 'POST' ? {} : undefined, key);
      expect([status, refusal(json).code]).toEqual([403, 'permission_denied']);
    }
  });
});

test('a first frame of 20 MiB is accepted; one byte more is refused', async () => {
  const image = (bytes: number) =>
    `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]).toString('base64')}`;
  const most = 20 * 1024 * 1024;
  const prompt = 'a large picture';
  const { id } = await startOne({ model: 'acme/video-ok', prompt, image: image(most) });
  expect((await ended(id)).status).toBe('completed');
  const sent = upstream.requests.find((one) => one.json?.prompt === prompt);
  expect(String(sent?.json?.image).length).toBe(image(most).length);
  const { status, json } = await start({ model: 'acme/video-ok', image: image(most + 1) });
  expect([status, refusal(json).param]).toEqual([400, 'image']);
});

test('a start repeated under its Idempotency-Key returns the same job, charged once', async () => {
  const before = await total();
  const once = () =>
    fetch(`${stack.url}/v1/videos/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stack.key}`,
        'content-type': 'application/json',
        'idempotency-key': 'the-same-start',
      },
      body: JSON.stringify({ model: 'acme/video-ok', prompt: 'once', duration: 4, resolution: '480p' }),
    });
  const first = await once();
  const second = await once();
  expect([first.status, second.status]).toEqual([202, 202]);
  expect(await second.json()).toEqual(await first.json());
  await expect.poll(async () => (await total()).cost).toBeCloseTo(before.cost + 0.2, 9);
});

test('the end of a job is sent to its callback_url, signed', async () => {
  const callback_url = `http://127.0.0.1:${callbacks.port}/hook`;
  const { id } = await startOne({ model: 'acme/video-ok', callback_url });
  const told = await callbacks.until((one) => one.body.includes(id));
  const event = JSON.parse(told.body) as { type: string };
  expect(event.type).toBe('video.completed');
  const { json } = await call('GET', '/v1/webhooks/signing_secret');
  const { secret } = json as { secret: string };
  expect(() => new Webhook(secret).verify(told.body, told.headers)).not.toThrow();
});

describe.skipIf(!hasFfmpeg)('local/video', () => {
  test('is an MP4 of the requested size, length and sound', async () => {
    const { id, usage } = await startOne({
      model: 'local/video',
      prompt: 'Three yellow stars over the sea at night',
      duration: 3,
      resolution: '720p',
      aspect_ratio: '9:16',
      generate_audio: true,
    });
    expect(usage).toEqual({ seconds: 3, cost: 0.006 });
    const url = (await ended(id)).videos?.[0]?.url ?? '';
    expect(await probe(url)).toEqual({
      duration: 3,
      streams: [{ codec_type: 'video', width: 720, height: 1280 }, { codec_type: 'audio' }],
    });
  });

  test('begins with the given first frame', async () => {
    const { id } = await startOne({
      model: 'local/video',
      duration: 1,
      resolution: '64x64',
      image: `data:image/png;base64,${PNG.toString('base64')}`,
    });
    const url = (await ended(id)).videos?.[0]?.url ?? '';
    expect(await probe(url)).toEqual({
      duration: 1,
      streams: [{ codec_type: 'video', width: 64, height: 64 }],
    });
  });
});

interface Probed {
  duration: number;
  streams: { codec_type: string; width?: number; height?: number }[];
}

/** The findings of ffprobe, with every frame decoded. */
async function probe(url: string): Promise<Probed> {
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
  const show = ['-show_entries', 'format=duration:stream=codec_type,width,height', '-of', 'json'];
  const options = { input: bytes, encoding: 'utf8' as const };
  const found = JSON.parse(execFileSync('ffprobe', ['-v', 'error', ...show, '-'], options)) as {
    format: { duration: string };
    streams: Probed['streams'];
  };
  execFileSync('ffmpeg', ['-v', 'error', '-xerror', '-i', '-', '-f', 'null', '-'], { input: bytes });
  return { duration: Number(found.format.duration), streams: found.streams };
}

interface Told {
  body: string;
  headers: Record<string, string>;
}

interface Callbacks {
  port: number;
  until(matches: (told: Told) => boolean): Promise<Told>;
  close(): Promise<void>;
}

/** A caller's server: receives callbacks and serves an image. */
async function startCallbacks(): Promise<Callbacks> {
  const told: Told[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method === 'POST')
      told.push({
        body: Buffer.concat(chunks).toString('utf8'),
        headers: request.headers as Record<string, string>,
      });
    const isPicture = request.url === '/cat.png';
    response.writeHead(request.method === 'POST' || isPicture ? 200 : 404).end(isPicture ? PNG : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    until: (matches) =>
      vi.waitFor(
        () => {
          const found = told.find(matches);
          if (!found) throw new Error('no such callback yet');
          return found;
        },
        { timeout: DONE_WITHIN_MS, interval: 100 },
      ),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
