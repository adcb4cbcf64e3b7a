/** Videos while services are killed: none is lost, none is started twice, and the bill is exact. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { usageReport, type VideoObject, videoList, videoObject } from '@switchyard/contracts';
import {
  type CatalogEntry,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

const TEST_TIMEOUT_MS = 600_000;
const ENDED_WITHIN_MS = 300_000;
/** Polls until a job is done: enough for the job to live through a kill. */
const LOOKS = 5;
const VICTIMS = ['video-worker', 'video-worker-2', 'edge', 'billing', 'nats', 'mongo', 'control'] as const;
const MODELS = ['acme/once', 'acme/repeatable', 'acme/failing'];
const NANOS = 1e9;

let stack: TestStack;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
  const model = (id: string, idempotent: boolean): CatalogEntry => ({
    id: `acme/${id}`,
    type: 'video',
    name: id,
    modalities: { input: ['text'], output: ['video'] },
    pricing: { second: { '480p': '0.0333' } },
    upstreams: [
      {
        adapter: 'openai-compatible',
        base_url: upstream.url,
        model: id,
        ...(idempotent ? { idempotent_starts: true } : {}),
      },
    ],
  });
  const looks = new Map<string, number>();
  for (const id of ['once', 'repeatable', 'failing'])
    upstream.on(id, ({ headers }, response) => {
      const job = `${id}_${headers['idempotency-key']}`;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: job, status: 'queued' }));
    });
  upstream.on('', ({ path }, response) => {
    if (path.endsWith('/content'))
      return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(randomBytes(50_000));
    const id = path.slice(path.lastIndexOf('/') + 1);
    looks.set(id, (looks.get(id) ?? 0) + 1);
    const isDone = (looks.get(id) ?? 0) > LOOKS;
    const end = id.startsWith('failing') ? 'failed' : 'completed';
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id, status: isDone ? end : 'in_progress' }));
  });
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [model('once', false), model('repeatable', true), model('failing', false)],
  });
  stack = await startStack({
    env: { SWITCHYARD_CATALOG: catalog, SWITCHYARD_SCALE: 'video-worker=2' },
    services: ['edge', 'control', 'model-router', 'video-worker', 'billing'],
    ownMongo: true,
  });
});

afterAll(async () => {
  await stack?.stop();
  await upstream?.close();
});

/** Null when no edge answered. */
async function startOne(model: string): Promise<number | null> {
  const body = JSON.stringify({ model, prompt: 'a cat', duration: 3 });
  const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' };
  const asked = fetch(`${stack.url}/v1/videos/generations`, { method: 'POST', headers, body });
  return asked.then(async (response) => {
    await response.arrayBuffer();
    return response.status;
  }, nobody);
}
const nobody = () => null;

/** Refused and unanswered starts may or may not be jobs: only the list counts. */
const startSome = () => Promise.allSettled(MODELS.map(startOne));

/** At least one of each: a restarted worker may need a moment until it takes jobs. */
const startAll = () =>
  Promise.all(
    MODELS.map((model) => expect.poll(() => startOne(model), { timeout: ENDED_WITHIN_MS }).toBe(202)),
  );

async function get<T>(path: string, schema: { parse(json: unknown): T }): Promise<T> {
  const response = await fetch(`${stack.url}${path}`, { headers: { authorization: `Bearer ${stack.key}` } });
  expect(response.status).toBe(200);
  return schema.parse(await response.json());
}

test(
  'all end, started once, and billed to the nano-dollar',
  async () => {
    for (const victim of VICTIMS) {
      await startAll();
      const starting = startSome(); // some starts are in flight when it dies
      const { back } = await stack.kill9(victim);
      await Promise.all([starting, back]);
    }
    const videos = await vi.waitFor(
      async (): Promise<VideoObject[]> => {
        const { data } = await get('/v1/videos?limit=1000', videoList);
        expect(data.filter(({ status }) => status === 'pending')).toEqual([]);
        return data;
      },
      { timeout: ENDED_WITHIN_MS, interval: 1_000 },
    );
    expect(videos.length).toBeGreaterThanOrEqual(MODELS.length * VICTIMS.length);

    const startsOf = (id: string) =>
      upstream.requests.filter(
        ({ method, headers }) => method === 'POST' && headers['idempotency-key'] === id,
      );
    for (const { id, model, status } of videos) {
      const starts = startsOf(id).length;
      if (model !== 'acme/repeatable') expect(starts, id).toBeLessThanOrEqual(1);
      else expect(status, id).toBe('completed');
      if (status === 'completed') expect(starts, id).toBeGreaterThanOrEqual(1);
    }
    // A charge without a listed video would be an upstream job that Switchyard does not know.
    const known = new Set(videos.map(({ id }) => id));
    expect(
      upstream.requests.filter(
        ({ headers }) => headers['idempotency-key'] && !known.has(String(headers['idempotency-key'])),
      ),
    ).toEqual([]);

    const nanos = videos.reduce((sum, { usage }) => sum + Math.round(usage.cost * NANOS), 0);
    await vi.waitFor(
      async () => {
        const { total } = await get('/v1/usage', usageReport);
        expect(Math.round(total.cost * NANOS)).toBe(nanos);
        expect(total.calls).toBe(videos.length);
      },
      { timeout: ENDED_WITHIN_MS, interval: 1_000 },
    );
    for (const { status, usage } of videos) expect(usage.cost).toBe(status === 'completed' ? 0.0999 : 0);
  },
  TEST_TIMEOUT_MS,
);

test.skipIf(spawnSync('ffmpeg', ['-version']).error)(
  'a rendering whose worker dies is repeated',
  async () => {
    const response = await fetch(`${stack.url}/v1/videos/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/video', prompt: 'a cat', duration: 30, resolution: '1080p' }),
    });
    const { id } = videoObject.parse(await response.json());
    const renderings = () => globSync(join(stack.dataFolder, 'video-worker', '*', `${id}-*`, 'video.mp4'));
    await vi.waitFor(() => expect(renderings().length).toBe(1), { timeout: ENDED_WITHIN_MS, interval: 50 });
    const killed = await Promise.all(['video-worker', 'video-worker-2'].map((name) => stack.kill9(name)));
    await Promise.all(killed.map(({ back }) => back));
    const video = await vi.waitFor(
      async () => {
        const seen = await get(`/v1/videos/${id}`, videoObject);
        expect(seen.status).toBe('completed');
        return seen;
      },
      { timeout: ENDED_WITHIN_MS, interval: 500 },
    );
    const file = await fetch(video.videos?.[0]?.url ?? '');
    expect(Number(file.headers.get('content-length'))).toBe((await file.arrayBuffer()).byteLength);
    await expect.poll(() => renderings().length).toBe(1); // only the dead worker's leftovers
  },
  TEST_TIMEOUT_MS,
);
