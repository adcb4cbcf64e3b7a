// Which jobs a worker takes while many are due: a real bucket, and a maker that never answers.
import { once } from 'node:events';
import { mirrorBucket } from '@switchyard/bus';
import { videoKey } from '@switchyard/contracts';
import type { VideoJob } from '@switchyard/model-router/video';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Installation, startInstallation } from '../fixtures/installation.ts';
import { Mortal } from '../fixtures/mortal.ts';
import { TestMaker } from '../fixtures/test-maker.ts';
import { needsWork } from './advance.ts';
import type { JobDeps } from './job-deps.ts';
import { newRecord } from './new-record.ts';
import { JOBS_AT_ONCE_MAX, LOOK_EVERY_MS, startWorker, type Worker } from './worker.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation?.stop());

/** Never answers a start until the test is over. */
class HangingMaker extends TestMaker {
  readonly #over = new AbortController();

  override async start(_upstream: unknown, job: VideoJob): Promise<string> {
    this.starts.push(job.id);
    await once(this.#over.signal, 'abort');
    throw new Error('the test is over');
  }

  end(): void {
    this.#over.abort();
  }
}

async function openJob(model: string, org: string): Promise<string> {
  const event = await installation.charge({ [model]: 1 }, org);
  const { video_id: id } = event.data;
  await installation.videos.create(videoKey(org, id), newRecord(event, { bytes: 0, callbackUrl: null }));
  return videoKey(org, id);
}

async function workerOf(deps: JobDeps): Promise<Worker> {
  const { bus, videos } = installation;
  const openJobs = await mirrorBucket(bus, videos, { keeps: needsWork });
  const worker = startWorker({ openJobs, instance: bus.instance, deps });
  const stop = async () => {
    await worker.stop();
    openJobs.close();
  };
  return { stop };
}

test('a lease that cannot be written is tried once per look, and reported once', async () => {
  const { clock, videos } = installation;
  const deps = installation.depsOf({ first: new TestMaker({ statusChecks: 1 }) }, new Mortal(null));
  const { update } = deps.videos;
  const refused = vi.fn().mockRejectedValue(new Error('no room'));
  deps.videos.update = refused;
  const reported = vi.spyOn(deps.logger, 'error');
  const key = await openJob('acme/first', 'org_0');
  const worker = await workerOf(deps);
  try {
    await expect.poll(() => refused.mock.calls.length).toBe(1);
    await openJob('acme/first', 'org_0'); // each change of the bucket has the worker look for due jobs
    await expect.poll(() => refused.mock.calls.length).toBe(2);
    expect(reported).toHaveBeenCalledTimes(1);
    clock.advance(LOOK_EVERY_MS);
    await expect.poll(() => refused.mock.calls.length).toBe(4);
    expect(reported).toHaveBeenCalledTimes(1);
    deps.videos.update = update;
    clock.advance(LOOK_EVERY_MS);
    await expect.poll(async () => (await videos.get(key))?.value.state).toBe('completed');
  } finally {
    await worker.stop();
  }
});

test.each([
  ['one org', ['org_a'], 'org_b'],
  ['two orgs at one upstream', ['org_c', 'org_d'], 'org_e'],
])('jobs of %s that hang leave places for another org’s job at another upstream', async (_, orgs, other) => {
  const { videos } = installation;
  const hanging = new HangingMaker();
  const makers = { first: hanging, second: new TestMaker({ statusChecks: 1 }) };
  const stopping = new AbortController();
  const deps = { ...installation.depsOf(makers, new Mortal(null)), stopping: stopping.signal };
  for (let job = 0; job < JOBS_AT_ONCE_MAX; job += 1)
    await openJob('acme/first', orgs[job % orgs.length] as string);
  const worker = await workerOf(deps);
  try {
    const key = await openJob('acme/second', other);
    const stateOf = async () => (await videos.get(key))?.value.state;
    await expect.poll(stateOf).toBe('completed');
    await expect.poll(() => hanging.starts.length).toBe(JOBS_AT_ONCE_MAX / 2);
  } finally {
    stopping.abort();
    hanging.end();
    await worker.stop();
  }
});
