// Runs workers as separate processes on a real NATS, kills them with SIGKILL at critical points, and checks the
// takeover.
import type { ServerResponse } from 'node:http';
import { type Bus, connectBus, openBucket, openReply, request } from '@switchyard/bus';
import {
  type CreateVideoHead,
  DEFAULT_ORG,
  EVENTS_STREAM,
  VIDEO_CREATE_SUBJECT,
  type VideoRecord,
  type VideoView,
  videoKey,
  videoView,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import {
  type CatalogEntry,
  type EventLog,
  openEventLog,
  startNats,
  startUpstream,
  type TestServer,
  temporaryFolder,
  type Upstream,
  type UpstreamRequest,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startWorkerProcess, type WorkerProcess } from './fixtures/worker-process.ts';

const RECOVERED_WITHIN_MS = 60_000;
const ASKED = { org: DEFAULT_ORG, key_id: 'key_1' };

let nats: TestServer;
let upstream: Upstream;
let bus: Bus;
let log: EventLog;
let environment: Record<string, string>;
let workers: WorkerProcess[] = [];

/** Status checks per upstream job. */
const looks = new Map<string, number>();
/** Overrides of the upstream's response to a start or a status check. */
let onStart: ((request: UpstreamRequest, response: ServerResponse) => void) | null = null;
let onLook: ((id: string, response: ServerResponse) => void) | null = null;

beforeAll(async () => {
  [nats, upstream] = await Promise.all([startNats(), startUpstream()]);
  const model = (id: string, idempotent: boolean): CatalogEntry => ({
    id: `acme/${id}`,
    type: 'video',
    name: id,
    modalities: { input: ['text'], output: ['video'] },
    pricing: { second: { '480p': '0.1' } },
    upstreams: [
      {
        adapter: 'openai-compatible',
        base_url: upstream.url,
        model: id,
        ...(idempotent ? { idempotent_starts: true } : {}),
      },
    ],
  });
  const catalog = await writeTestCatalog({
    url: upstream.url,
    models: [model('once', false), model('repeatable', true)],
  });
  for (const id of ['once', 'repeatable']) upstream.on(id, takeStart);
  upstream.on('', answerLook);
  environment = {
    NATS_URL: nats.url,
    SWITCHYARD_CATALOG: catalog,
    SWITCHYARD_DATA: await temporaryFolder('video-workers'),
  };
  bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  workers = await Promise.all([startWorkerProcess(environment), startWorkerProcess(environment)]);
  log = await openEventLog(bus);
});

afterAll(async () => {
  await log?.stop();
  await Promise.all(workers.map((worker) => worker.stop()));
  await bus?.close();
  await upstream?.close();
  await nats?.stop();
});

function takeStart(request: UpstreamRequest, response: ServerResponse): void {
  if (onStart) return onStart(request, response);
  const id = `job_${request.headers['idempotency-key']}`;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ id, status: 'queued' }));
}

function answerLook({ path }: UpstreamRequest, response: ServerResponse): void {
  if (path.endsWith('/content'))
    return void response.writeHead(200, { 'content-type': 'video/mp4' }).end(Buffer.alloc(1_000, 1));
  const id = path.slice(path.lastIndexOf('/') + 1);
  looks.set(id, (looks.get(id) ?? 0) + 1);
  if (onLook) return onLook(id, response);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ id, status: (looks.get(id) ?? 0) > 1 ? 'completed' : 'queued' }));
}

async function start(model: string): Promise<VideoView> {
  const body = Buffer.from(JSON.stringify({ model, prompt: 'a cat', duration: 5 }));
  const head: CreateVideoHead = {
    ...ASKED,
    request_id: 'req_1',
    models: [model],
    body_bytes: body.length,
    received_at: Date.now(),
  };
  const answer = await openReply(bus, { subject: VIDEO_CREATE_SUBJECT, head, body });
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return videoView.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
}

async function recordOf(id: string): Promise<VideoRecord> {
  const entry = await (await openBucket(bus, 'videos')).get(videoKey(DEFAULT_ORG, id));
  if (!entry) throw new Error(`no record of ${id}`);
  return entry.value;
}

const until = (id: string, check: (record: VideoRecord) => void) =>
  vi.waitFor(async () => check(await recordOf(id)), { timeout: RECOVERED_WITHIN_MS, interval: 50 });

const startsOf = (id: string) =>
  upstream.requests.filter(({ method, headers }) => method === 'POST' && headers['idempotency-key'] === id);

/** Kills all workers and starts as many new ones, so that no in-memory state survives. */
async function killAll(): Promise<void> {
  await Promise.all(workers.map((worker) => worker.kill9()));
  workers = await Promise.all([startWorkerProcess(environment), startWorkerProcess(environment)]);
}

describe('a worker killed', () => {
  test('during a start at a maker without idempotent starts costs the caller nothing, and the start is not repeated', async () => {
    const asked = Promise.withResolvers<void>();
    onStart = () => asked.resolve(); // the maker accepts the job and never answers
    const { id } = await start('acme/once');
    await asked.promise;
    onStart = null;
    await killAll();
    await until(id, ({ state, unpublished_events }) =>
      expect([state, unpublished_events]).toEqual(['failed', []]),
    );
    expect(startsOf(id).length).toBe(1);
    expect(await recordOf(id)).toMatchObject({
      refunded_nano: '500000000',
      error: { code: 'upstream_error' },
    });
    await log.until('the end', (event) => event.id === `${id}:failed`);
    expect(log.all.filter((event) => event.id.startsWith(id)).map((event) => event.id)).toEqual([
      `${id}:charge`,
      `${id}:refund`,
      `${id}:failed`,
    ]);
  });

  test('during a start repeats the start under the same key at a maker with idempotent starts', async () => {
    const asked = Promise.withResolvers<void>();
    onStart = () => asked.resolve();
    const { id } = await start('acme/repeatable');
    await asked.promise;
    onStart = null;
    await killAll();
    await until(id, ({ state }) => expect(state).toBe('completed'));
    expect(startsOf(id).length).toBe(2);
    expect((await recordOf(id)).refunded_nano).toBe('0');
  });

  test('during a status check leaves the job to the other worker', async () => {
    const asked = Promise.withResolvers<void>();
    onLook = () => asked.resolve();
    const [owner, idle] = workers as [WorkerProcess, WorkerProcess];
    await idle.stop(); // the other one takes the job
    const { id } = await start('acme/once');
    await asked.promise;
    onLook = null;
    const other = await startWorkerProcess(environment);
    workers = [owner, other];
    await owner.kill9();
    await until(id, ({ state }) => expect(state).toBe('completed'));
    expect(other.isAlive).toBe(true);
    expect(startsOf(id).length).toBe(1);
    workers = [other, await startWorkerProcess(environment)];
  });
});

test('a worker that receives SIGTERM releases its job, and another worker continues at once', async () => {
  const asked = Promise.withResolvers<void>();
  onLook = () => asked.resolve();
  const { id } = await start('acme/once');
  await asked.promise;
  onLook = null;
  const codes = await Promise.all(workers.map((worker) => worker.stop()));
  expect(codes).toEqual([0, 0]);
  expect((await recordOf(id)).lease).toBeNull();
  workers = [await startWorkerProcess(environment)];
  await until(id, ({ state }) => expect(state).toBe('completed'));
  expect(startsOf(id).length).toBe(1);
});

test('two workers share the jobs and start each job once', async () => {
  workers.push(await startWorkerProcess(environment));
  const views = await Promise.all(Array.from({ length: 20 }, () => start('acme/once')));
  for (const { id } of views) await until(id, ({ state }) => expect(state).toBe('completed'));
  expect(views.map(({ id }) => startsOf(id).length)).toEqual(views.map(() => 1));
});

test('a video of another org looks like one that never existed, for every operation', async () => {
  const { id } = await start('acme/once');
  const other = { org: 'org_other', key_id: 'key_2', id };
  for (const operation of ['videos.get', 'videos.delete'] as const)
    await expect(request(bus, operation, other)).rejects.toMatchObject({ code: 'video_not_found' });
  const list = await request(bus, 'videos.list', { ...other, query: { limit: 10 } });
  expect(list.data).toEqual([]);
  expect((await request(bus, 'videos.get', { ...ASKED, id })).id).toBe(id);
});

test('a charge without a record gets its record from the event', async () => {
  const { id } = await start('acme/once');
  await until(id, ({ state }) => expect(state).toBe('completed'));
  const videos = await openBucket(bus, 'videos');
  const event = await log.until('the charge', (one) => one.id === `${id}:charge`);
  // As after a crash between event and record: the same event, for a job without a record.
  const copy = structuredClone(event) as { id: string; data: { video_id: string } };
  const lostId = `${id}lost`;
  copy.id = `${lostId}:charge`;
  copy.data.video_id = lostId;
  await bus.js.publish(`event.v1.video.charged.${DEFAULT_ORG}`, JSON.stringify(copy), {
    msgID: copy.id,
    expect: { streamName: EVENTS_STREAM },
  });
  await until(lostId, ({ state, error }) =>
    expect([state, error?.code]).toEqual(['failed', 'internal_error']),
  );
  expect((await videos.get(videoKey(DEFAULT_ORG, lostId)))?.value.refunded_nano).toBe('500000000');
});
