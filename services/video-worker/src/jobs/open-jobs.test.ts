// Tests how a worker tracks open jobs when its watch fails or ends. Uses a real bucket and a link that a test can cut.
import type { KvWatchEntry } from '@nats-io/kv';
import type { QueuedIterator } from '@nats-io/transport-node';
import { type Event, videoKey } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Installation, startInstallation } from '../fixtures/installation.ts';
import { newRecord } from './new-record.ts';
import { OpenJobs, RESTART_DELAY_MS } from './open-jobs.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation?.stop());

let clock: FakeClock;
let jobs: OpenJobs;
let watches: QueuedIterator<KvWatchEntry>[];
/** Number of watches to refuse from now on. */
let refusals: number;
let relink: () => void;

beforeEach(async () => {
  clock = new FakeClock();
  watches = [];
  refusals = 0;
  const { videos } = installation;
  const kv = new Proxy(videos.kv, {
    get(target, name) {
      if (name !== 'watch') return Reflect.get(target, name);
      return async (options: Parameters<typeof target.watch>[0]) => {
        if (refusals > 0) {
          refusals -= 1;
          throw new Error('JetStream is unavailable');
        }
        const watch = await target.watch(options);
        watches.push(watch);
        return watch;
      };
    },
  });
  jobs = new OpenJobs({
    bus: {
      onReconnect: (run) => {
        relink = run;
        return () => {};
      },
      logger: makeLogger('video-worker', 'silent'),
    },
    videos: { kv, read: videos.read.bind(videos), isGenuine: videos.isGenuine.bind(videos) },
    clock,
    onChange: () => {},
  });
  await jobs.open();
});
afterEach(() => jobs.close());

async function openJob(): Promise<Event<'video.charged'>> {
  const event = await installation.charge({ 'acme/first': 1 });
  const { org, video_id: id } = event.data;
  await installation.videos.create(videoKey(org, id), newRecord(event, { bytes: 0, callbackUrl: null }));
  return event;
}

const known = () => jobs.due(Number.POSITIVE_INFINITY).map(({ value }) => value.id);
const waiting = () => expect.poll(() => clock.waiting).toBe(1);

test('a watch that ends is restarted and receives the changes made meanwhile', async () => {
  const before = await openJob();
  await expect.poll(known).toContain(before.data.video_id);
  watches[0]?.stop();
  await waiting();
  const meanwhile = await openJob();
  expect(known()).not.toContain(meanwhile.data.video_id);
  clock.advance(RESTART_DELAY_MS);
  await expect.poll(known).toEqual(expect.arrayContaining([before.data.video_id, meanwhile.data.video_id]));
});

test('a watch that cannot start after a reconnect is retried until it starts', async () => {
  refusals = 3;
  relink();
  await expect.poll(() => refusals).toBe(2);
  const { data } = await openJob();
  for (const left of [1, 0]) {
    await waiting();
    clock.advance(RESTART_DELAY_MS);
    await expect.poll(() => refusals).toBe(left);
  }
  await waiting();
  expect(known()).not.toContain(data.video_id);
  clock.advance(RESTART_DELAY_MS);
  await expect.poll(known).toContain(data.video_id);
  expect(watches.length).toBe(2);
});

test('a reconnect restarts the watch at once and drops jobs that were deleted meanwhile', async () => {
  const gone = await openJob();
  const stays = await openJob();
  await expect.poll(known).toEqual(expect.arrayContaining([gone.data.video_id, stays.data.video_id]));
  watches[0]?.stop();
  await waiting();
  await installation.videos.purge(videoKey(gone.data.org, gone.data.video_id));
  relink(); // no watch is active; the retry timer restarts it
  clock.advance(RESTART_DELAY_MS);
  await expect.poll(known).not.toContain(gone.data.video_id);
  await expect.poll(known).toContain(stays.data.video_id);
  const count = watches.length;
  relink();
  await expect.poll(() => watches.length).toBe(count + 1);
  await expect.poll(known).toContain(stays.data.video_id);
});

test('a closed OpenJobs starts no watch on any event', async () => {
  jobs.close();
  relink();
  clock.advance(10 * RESTART_DELAY_MS);
  await new Promise(setImmediate);
  expect(watches.length).toBe(1);
});
