// Stops a worker process that has jobs and an open call, on a real NATS and with a maker over HTTP.
import type { ServerResponse } from 'node:http';
import { type Bus, connectBus, openBucket, openReply } from '@switchyard/bus';
import {
  type CreateVideoHead,
  DEFAULT_ORG,
  VIDEO_CONTENT_SUBJECT,
  VIDEO_CREATE_SUBJECT,
  type VideoContentHead,
  type VideoRecord,
  videoKey,
  videoView,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import {
  type CatalogEntry,
  startNats,
  startUpstream,
  type TestServer,
  temporaryFolder,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkerProcess, type WorkerProcess } from './fixtures/worker-process.ts';

/** More than a call sends ahead of its reader. */
const VIDEO = Buffer.alloc(16 * 1024 * 1024, 'video');

let nats: TestServer;
let upstream: Upstream;
let bus: Bus;
let worker: WorkerProcess;

beforeAll(async () => {
  [nats, upstream] = await Promise.all([startNats(), startUpstream()]);
  const model = (name: string, upstreams: string[]): CatalogEntry => ({
    ...{ id: `acme/${name}`, type: 'video', name },
    modalities: { input: ['text'], output: ['video'] },
    pricing: { second: { '480p': '0.1' } },
    upstreams: upstreams.map((at) => ({ adapter: 'openai-compatible', base_url: upstream.url, model: at })),
  });
  const models = [model('quick', ['quick']), model('fallback', ['refusing', 'spare'])];
  worker = await startWorkerProcess({
    NATS_URL: nats.url,
    SWITCHYARD_CATALOG: await writeTestCatalog({ url: upstream.url, models }),
    SWITCHYARD_DATA: await temporaryFolder('video-worker'),
  });
  bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
});

afterAll(async () => {
  await worker?.kill9();
  await bus?.close();
  await upstream?.close();
  await nats?.stop();
});

async function create(model: string): Promise<string> {
  const body = Buffer.from(JSON.stringify({ model, prompt: 'a cat', duration: 5 }));
  const asked = { org: DEFAULT_ORG, key_id: 'key_1', request_id: 'req_1', models: [model] };
  const head: CreateVideoHead = { ...asked, body_bytes: body.length, received_at: Date.now() };
  const answer = await openReply(bus, { subject: VIDEO_CREATE_SUBJECT, head, body });
  const chunks = await Array.fromAsync(answer.body);
  return videoView.parse(JSON.parse(Buffer.concat(chunks).toString('utf8'))).id;
}

async function recordOf(id: string): Promise<VideoRecord | undefined> {
  return (await (await openBucket(bus, 'videos')).get(videoKey(DEFAULT_ORG, id)))?.value;
}

/** The next request for the model stays open. */
function holdNext(model: string): Promise<ServerResponse> {
  const held = Promise.withResolvers<ServerResponse>();
  upstream.on(model, (_request, response) => held.resolve(response));
  return held.promise;
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

test('a worker that stops during a download gives its jobs away at once, and begins no start', async () => {
  upstream.on('quick', (_request, response) => answerJson(response, 200, { id: 'job_1', status: 'queued' }));
  upstream.on('', ({ path }, response) => {
    if (path.endsWith('/content')) response.writeHead(200, { 'content-type': 'video/mp4' }).end(VIDEO);
    else answerJson(response, 200, { id: 'job_1', status: 'completed' });
  });
  const watched = await create('acme/quick');
  await expect.poll(async () => (await recordOf(watched))?.state).toBe('completed');
  const head: VideoContentHead = { org: DEFAULT_ORG, id: watched, range: null };
  const download = await openReply(bus, { subject: VIDEO_CONTENT_SUBJECT, head });

  const refusal = holdNext('refusing');
  const refused = await create('acme/fallback');
  const refuse = await refusal;
  const look = holdNext('');
  const checked = await create('acme/quick');
  await look;

  const stopped = worker.stop();
  await expect.poll(async () => (await recordOf(checked))?.lease).toBeNull();
  answerJson(refuse, 503, { error: { message: 'not now' } });
  await expect.poll(async () => (await recordOf(refused))?.lease).toBeNull();
  expect(await recordOf(refused)).toMatchObject({ state: 'waiting', attempts: [{ status: 503 }] });
  expect(upstream.requests.filter(({ model }) => model === 'spare')).toEqual([]);
  expect(worker.isAlive).toBe(true);
  download.cancel();
  expect(await stopped).toBe(0);
});
