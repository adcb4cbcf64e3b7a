// Creates videos over a real bus, from pictures on a web server that does not announce their length.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BUCKETS, type Mirror, mirrorBucket, OBJECT_STORES, openReply, serve } from '@switchyard/bus';
import {
  VIDEO_CREATE_SUBJECT,
  type VideoRecord,
  type VideoView,
  videoKey,
  videoView,
} from '@switchyard/contracts';
import { createEgress, parseAllowList } from '@switchyard/egress';
import { ByteBudget, makeLogger, ORG_SHARE_MAX } from '@switchyard/service';
import { HoldKeeper } from '@switchyard/spending';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Installation, JOB_MS_MAX, startInstallation } from '../fixtures/installation.ts';
import { Mortal } from '../fixtures/mortal.ts';
import { TestMaker } from '../fixtures/test-maker.ts';
import { needsWork } from '../jobs/advance.ts';
import { newRecord } from '../jobs/new-record.ts';
import { register } from '../register.ts';
import { KEPT_VIDEOS_MAX, OPEN_BYTES_MAX, OPEN_JOBS_MAX, RECORD_BYTES_LEFT_MIN } from './open-limits.ts';
import type { VideoOperations } from './video-operations.ts';

/** Timeout for a step that takes a moment on an idle machine. */
const BUSY_MS = 60_000;
const ORG = 'org_a';
const MIB = 1024 * 1024;
const RESULT_BYTES_MAX = 2 * MIB;
const BUDGET_BYTES = 128 * MIB;
/** Its copies and the largest picture exceed an org's share. */
const OPTIONS_BYTES = 9 * MIB;
const PICTURE = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  Buffer.alloc(2 * MIB),
]);

let installation: Installation;
let pictures: Server;
let deps: VideoOperations;
let openJobs: Mirror<VideoRecord>;
let downloads = 0;

beforeAll(async () => {
  installation = await startInstallation();
  const { bus, clock } = installation;
  pictures = createServer((_request, response) => {
    downloads += 1;
    response.write(PICTURE);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(pictures, 'listening');
  const logger = makeLogger('video-worker', 'silent');
  openJobs = await mirrorBucket(bus, installation.videos, { keeps: needsWork });
  deps = {
    ...installation,
    catalog: installation.depsOf({ first: new TestMaker() }, new Mortal(null)).catalog,
    egress: createEgress({ allow: parseAllowList(new URL(pictureUrl()).host) }),
    holds: new HoldKeeper({ bus, logger }),
    largeBodies: new ByteBudget({ bytesMax: BUDGET_BYTES, clock }),
    openJobs,
    resultBytesMax: RESULT_BYTES_MAX,
    jobMsMax: JOB_MS_MAX,
    logger,
  };
  register(await serve(bus, { name: 'video-worker', version: '0.1.0', description: 'test' }), deps);
});

afterAll(async () => {
  openJobs?.close();
  deps?.holds.stop();
  pictures?.close();
  await installation?.stop();
});

function pictureUrl(): string {
  return `http://127.0.0.1:${(pictures.address() as AddressInfo).port}/first-frame`;
}

function create(more: object, org = ORG): Promise<VideoView> {
  return send(JSON.stringify({ ...REQUEST, ...more }), org);
}

const REQUEST = { model: 'acme/first', prompt: 'a cat', duration: 4 };

async function send(text: string, org = ORG): Promise<VideoView> {
  const { bus, clock } = installation;
  const body = Buffer.from(text);
  const head = {
    ...{ org, key_id: 'key_1', request_id: 'req_1', models: ['acme/first'] },
    ...{ body_bytes: body.length, received_at: clock.now() },
  };
  const answer = await openReply(bus, { subject: VIDEO_CREATE_SUBJECT, head, body });
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return videoView.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
}

test('a large body that names a picture of unknown length does not wait for its own memory', async () => {
  const options = { reference: 'x'.repeat(OPTIONS_BYTES) };
  const { id } = await create({ image: pictureUrl(), provider_options: options });
  const input = await installation.inputs.read(id);
  expect(input?.image?.bytes.equals(PICTURE)).toBe(true);
  expect(input?.providerOptions).toEqual(options);
  expect(deps.largeBodies).toMatchObject({ held: 0, waiting: 0 });
});

test('integers above 2^53 keep their digits in provider_options and further fields; a seed is refused', async () => {
  const further = '{"noise":18446744073709551615,"list":[-9007199254740993]}';
  const options = '{"seed":18446744073709551615}';
  const fields = `${JSON.stringify(REQUEST).slice(0, -1)},${further.slice(1, -1)},"provider_options":${options}}`;
  const { id } = await send(fields);
  const input = await installation.inputs.read(id);
  expect(JSON.stringify(input?.providerOptions)).toBe(options);
  expect(JSON.stringify(input?.further)).toBe(further);
  const refused = send(`${JSON.stringify(REQUEST).slice(0, -1)},"seed":18446744073709551615}`);
  await expect(refused).rejects.toMatchObject({ param: 'seed', message: expect.stringMatching('Too big') });
});

test('a picture is not requested before there is memory for it', async () => {
  const { signal } = new AbortController();
  const share = await deps.largeBodies.take(BUDGET_BYTES * ORG_SHARE_MAX, { org: ORG, signal });
  const before = downloads;
  const creating = create({ image: pictureUrl() });
  await expect.poll(() => deps.largeBodies.waiting).toBe(1);
  expect(downloads).toBe(before);
  share.release();
  await creating;
  expect(downloads).toBe(before + 1);
  expect(deps.largeBodies.held).toBe(0);
});

/** Creates unfinished videos of an org and waits until the worker knows them. */
async function openVideos(org: string, count: number, bytes: number): Promise<VideoRecord[]> {
  const event = await installation.charge({ 'acme/first': 1 }, org);
  const first = newRecord(event, { bytes, callbackUrl: null });
  const records = Array.from({ length: count }, (_, i) => ({ ...first, id: `${first.id}${i}` }));
  const put = (record: VideoRecord) => installation.videos.create(videoKey(org, record.id), record);
  for (let i = 0; i < count; i += 100) await Promise.all(records.slice(i, i + 100).map(put));
  await openJobs.caughtUp(BUSY_MS);
  return records;
}

test.each([
  ['unfinished_videos', OPEN_JOBS_MAX, 'org_b', OPEN_JOBS_MAX, 1],
  ['unfinished_video_bytes', OPEN_BYTES_MAX, 'org_c', 1, OPEN_BYTES_MAX],
])(
  'an org at its limit of %s is refused until a video ends; other orgs are not',
  async (limit, max, org, count, bytes) => {
    const [record] = await openVideos(org, count, bytes);
    if (!record) throw new Error('no record');
    const stored = vi.spyOn(deps.inputs, 'put');
    const refusal = {
      code: 'rate_limited',
      retryAfterS: expect.any(Number),
      details: { limit, of: 'org', max },
    };
    await expect(create({}, org)).rejects.toMatchObject(refusal);
    expect(stored).not.toHaveBeenCalled();
    await create({}, 'org_other');
    await installation.videos.put(videoKey(org, record.id), { ...record, state: 'completed' });
    await openJobs.caughtUp(BUSY_MS);
    await create({}, org);
    stored.mockRestore();
  },
);

/** Stores records of an org, of which only the keys matter. */
async function fillWith(org: string, count: number): Promise<void> {
  const { bus } = installation;
  for (let i = 0; i < count; i += 1) bus.nc.publish(`$KV.videos.${videoKey(org, `vid_${i}`)}`);
  await expect.poll(async () => (await installation.videos.keysWithDeleted(`${org}.>`)).length).toBe(count);
}

/** The charges of an org so far. */
async function chargesOf(org: string): Promise<number> {
  await installation.publishedEvents('a marker');
  return installation.log.all.filter(
    ({ type, data }) => type === 'video.charged' && 'org' in data && data.org === org,
  ).length;
}

test('an org with its maximum of kept records is refused without a charge; other orgs are not', async () => {
  await fillWith('org_d', KEPT_VIDEOS_MAX - 1);
  await create({}, 'org_d');
  await expect(create({}, 'org_d')).rejects.toMatchObject({
    code: 'rate_limited',
    details: { limit: 'kept_videos', of: 'org', max: KEPT_VIDEOS_MAX },
  });
  expect(await chargesOf('org_d')).toBe(1);
  await create({}, 'org_other');
});

test.each([
  ['KV_videos', BUCKETS.videos.maxBytes, RECORD_BYTES_LEFT_MIN, 'org_e'],
  ['OBJ_video-results', OBJECT_STORES['video-results'].maxBytes, RESULT_BYTES_MAX, 'org_f'],
])('a video is refused without a charge while %s is almost full', async (stream, max, leftMin, org) => {
  const { streams } = installation.bus.jsm;
  const { bytes } = (await streams.info(stream)).state;
  await streams.update(stream, { max_bytes: bytes + leftMin - 1 });
  await expect(create({}, org)).rejects.toMatchObject({ code: 'storage_full' });
  expect(await chargesOf(org)).toBe(0);
  await streams.update(stream, { max_bytes: max });
  await create({}, org);
  expect(await chargesOf(org)).toBe(1);
});
