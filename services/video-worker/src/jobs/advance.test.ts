// Tests the start protocol with a worker that dies before or after every single step, and a second worker that takes
// over. Uses real NATS and in-memory makers.
import { OBJECT_STORES } from '@switchyard/bus';
import { type Event, VIDEO_RESULT_HOURS, videoKey, videosRequest } from '@switchyard/contracts';
import { ByteBudget, LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Installation, JOB_MS_MAX, startInstallation } from '../fixtures/installation.ts';
import { type Death, Died, Mortal } from '../fixtures/mortal.ts';
import { TestMaker, type TestMakerOptions, VIDEO } from '../fixtures/test-maker.ts';
import { workOn } from './advance.ts';
import { holdJob, LEASE_MS } from './held-job.ts';
import { EVENT_AGE_MS_MAX, ensureRecord, newRecord } from './new-record.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation?.stop());

/** More steps than any job takes. */
const STEPS_MAX = 60;
const CHARGE = 400;
const CHEAPER = 150;
/** Size of options, most of an input. */
const OPTIONS_BYTES = 20_000_000;

interface Scenario {
  first: Partial<TestMakerOptions>;
  second?: Partial<TestMakerOptions>;
}

/**
 * Runs one job with a worker that dies, then with one that survives. Returns the outcome and whether the first one
 * died.
 */
async function run({ first, second }: Scenario, death: Death | null) {
  const makers: Record<string, TestMaker> = {
    first: new TestMaker(first),
    ...(second ? { second: new TestMaker(second) } : {}),
  };
  const prices = { 'acme/first': CHARGE, ...(second ? { 'acme/second': CHEAPER } : {}) };
  const event = await installation.charge(prices);
  const mortal = new Mortal(death);
  const dying = installation.depsOf(makers, mortal);
  await untilDeath(async () => {
    await ensureRecord(dying, event);
    await installation.work(dying, event);
  });
  const { isDead, steps } = mortal;
  if (isDead) {
    installation.clock.advance(LEASE_MS + 1);
    const living = installation.depsOf(makers, new Mortal(null));
    await ensureRecord(living, event); // redeliver the event
    await installation.work(living, event);
  }
  const record = await installation.read(event);
  const published = await installation.publishedEvents(record.id);
  return { record, published, makers, isDead, steps };
}

function isRefund(event: Event): event is Event<'video.refunded'> {
  return event.type === 'video.refunded';
}

async function untilDeath(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Died)) throw error;
  }
}

type Outcome = Awaited<ReturnType<typeof run>>;

/** Invariants of every outcome: one end event, one payment, no work left. */
function expectWhole({ record, published, makers }: Outcome): void {
  expect(record.unpublished_events).toEqual([]);
  expect(new Set(published.map(({ id }) => id)).size).toBe(published.length);
  const refunded = published.reduce(
    (sum, event) => sum + (isRefund(event) ? Number(event.data.cost_nano) : 0),
    0,
  );
  expect(refunded).toBe(Number(record.refunded_nano));
  const ends = published.filter(({ type }) => type === 'video.completed' || type === 'video.failed');
  expect(ends.map(({ type }) => type)).toEqual([`video.${record.state}`]);
  if (record.state === 'failed') expect(refunded).toBe(CHARGE);
  else expect(refunded).toBe(record.model === 'acme/second' ? CHARGE - CHEAPER : 0);
  for (const maker of Object.values(makers)) {
    if (!maker.options.idempotent) expect(maker.starts.length, 'asked once').toBeLessThanOrEqual(1);
    expect(maker.jobs.size, 'one job at a maker').toBeLessThanOrEqual(1);
  }
}

/** Repeats the scenario, with the worker dying at a different step each time. */
async function everyDeath(scenario: Scenario, when: Death['when'], check: (outcome: Outcome) => void) {
  for (let step = 1; step <= STEPS_MAX; step += 1) {
    const outcome = await run(scenario, { step, when });
    const where = `death ${when} step ${step}, ${outcome.steps.at(-1)}`;
    try {
      expectWhole(outcome);
      check(outcome);
    } catch (error) {
      throw new Error(where, { cause: error });
    }
    if (!outcome.isDead) return expect(step).toBeGreaterThan(10); // the worker survived, so every step was covered
  }
  throw new Error('a job exceeds STEPS_MAX steps');
}

describe.each(['before', 'after'] as const)('a worker that dies %s any step', (when) => {
  test('starts the job at most once at a maker without idempotent starts, and the job is paid or refunded', () =>
    everyDeath({ first: {} }, when, ({ record, makers }) => {
      if (record.state === 'completed') expect(makers.first?.jobs.size).toBe(1);
      else expect(record.error?.code).toBe('upstream_error');
    }));

  test('always completes the job at a maker with idempotent starts', () =>
    everyDeath({ first: { idempotent: true } }, when, ({ record }) => {
      expect(record.state).toBe('completed');
      expect(record.result).toMatchObject({ media_type: 'video/mp4', bytes: VIDEO.length });
    }));

  test('refunds a failed job exactly once and in full', () =>
    everyDeath({ first: { idempotent: true, end: 'failed' } }, when, ({ record }) => {
      expect(record).toMatchObject({ state: 'failed', error: { code: 'video_failed' } });
    }));

  test('refunds the price difference of a fallback exactly once, also when the fallback fails later', () =>
    everyDeath(
      { first: { idempotent: true, start: 'unavailable' }, second: { idempotent: true, end: 'failed' } },
      when,
      ({ record, published }) => {
        expect(record.state).toBe('failed');
        const refunds = published.filter(isRefund) as Event<'video.refunded'>[];
        const amounts = refunds.map(({ data }) => [data.reason, data.cost_nano]);
        expect(amounts).toEqual([
          ['cheaper_model', String(CHARGE - CHEAPER)],
          ['failed', String(CHEAPER)],
        ]);
      },
    ));
});

describe('a job', () => {
  test('completes with one start, several status checks and no input left behind', async () => {
    const outcome = await run({ first: { statusChecks: 5 } }, null);
    expectWhole(outcome);
    expect(outcome.record.state).toBe('completed');
    expect(await installation.inputs.read(outcome.record.id)).toBeNull();
    const stored = await installation.results.get(outcome.record.id);
    const chunks: Buffer[] = [];
    for await (const chunk of stored ?? []) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(VIDEO)).toBe(true);
  });

  test('is not offered to another maker after a rejection', async () => {
    const outcome = await run({ first: { start: 'refuse' }, second: {} }, null);
    expectWhole(outcome);
    expect(outcome.record).toMatchObject({ state: 'failed', error: { code: 'upstream_rejected' } });
    expect(outcome.makers.second?.starts).toEqual([]);
  });

  test('that waits for memory when its worker stops is left to another one, not started', async () => {
    const maker = new TestMaker();
    const stopping = new AbortController();
    const largeBodies = new ByteBudget({ bytesMax: LARGE_BODY_BYTES_MIN, clock: installation.clock });
    const alive = installation.depsOf({ first: maker }, new Mortal(null));
    const deps = { ...alive, largeBodies, stopping: stopping.signal };
    const event = await installation.charge({ 'acme/first': CHARGE });
    const record = newRecord(event, { bytes: OPTIONS_BYTES, callbackUrl: null });
    const key = videoKey(record.org, record.id);
    await installation.videos.create(key, record);
    await largeBodies.take(OPTIONS_BYTES, { org: record.org, signal: stopping.signal });
    const entry = await installation.videos.get(key);
    const held = entry && (await holdJob(deps, entry, 'worker'));
    if (!held) throw new Error('the job was not taken');
    const working = workOn(deps, held);
    expect(largeBodies.waiting).toBe(1);
    stopping.abort();
    await working;
    expect(await installation.read(event)).toMatchObject({ state: 'waiting', lease: null });
    expect(maker.starts).toEqual([]);
  });

  test('that fails at its maker reports the message without our account ids', async () => {
    const { record } = await run({ first: { end: 'failed' } }, null);
    expect(record.error).toEqual({
      code: 'video_failed',
      message: 'rendering failed in organization [redacted]',
    });
  });

  test('that no maker accepts lists the attempted upstreams', async () => {
    const unavailable = { start: 'unavailable' } as const;
    const { record, published } = await run({ first: unavailable, second: unavailable }, null);
    expect(record.error?.code).toBe('upstream_error');
    expect(record.attempts.map(({ model, status }) => [model, status])).toEqual([
      ['acme/first', 503],
      ['acme/second', 503],
    ]);
    expect(published.at(-1)?.data).toMatchObject({ attempts: record.attempts });
  });

  test('that exceeds its time limit is cancelled at the maker and refunded', async () => {
    const makers = { first: new TestMaker({ statusChecks: Number.POSITIVE_INFINITY }) };
    const event = await installation.charge({ 'acme/first': CHARGE });
    const deps = installation.depsOf(makers, new Mortal(null));
    await ensureRecord(deps, event);
    const working = installation.work(deps, event).catch((error: unknown) => error);
    await working; // LOOKS_MAX status checks did not complete the job
    installation.clock.advance(JOB_MS_MAX);
    await installation.work(deps, event);
    expect(await installation.read(event)).toMatchObject({
      state: 'failed',
      error: { code: 'upstream_timeout' },
      refunded_nano: String(CHARGE),
    });
    expect(makers.first.cancels.length).toBe(1);
  });

  test('whose download stalls until the time limit is cancelled at the maker and refunded', async () => {
    const maker = new TestMaker({ end: 'stalls' });
    const event = await installation.charge({ 'acme/first': CHARGE });
    const deps = installation.depsOf({ first: maker }, new Mortal(null));
    await ensureRecord(deps, event);
    const working = installation.work(deps, event);
    await maker.stalled.promise;
    installation.clock.advance(JOB_MS_MAX);
    await working;
    expect(await installation.read(event)).toMatchObject({
      state: 'failed',
      error: { code: 'upstream_timeout' },
      refunded_nano: String(CHARGE),
    });
    expect(maker.cancels.length).toBe(1);
  });

  test('is not started again when its event arrives late or twice, even after deletion', async () => {
    const makers = { first: new TestMaker() };
    const event = await installation.charge({ 'acme/first': CHARGE });
    const deps = installation.depsOf(makers, new Mortal(null));
    await Promise.all([ensureRecord(deps, event), ensureRecord(deps, event)]);
    await installation.work(deps, event);
    const key = `${event.data.org}.${event.data.video_id}`;
    const entry = await installation.videos.get(key);
    if (!entry) throw new Error('no record');
    await installation.videos.update(key, { ...entry.value, deleted: true }, entry.revision);
    await ensureRecord(deps, event);
    await installation.work(deps, event);
    expect(makers.first.starts.length).toBe(1);
    expect(await installation.read(event)).toMatchObject({ deleted: true, state: 'completed' });
  });

  test('whose record exists costs one read of the record when its event is repeated', async () => {
    const event = await installation.charge({ 'acme/first': CHARGE });
    const mortal = new Mortal(null);
    const deps = installation.depsOf({ first: new TestMaker() }, mortal);
    await ensureRecord(deps, event);
    const steps = mortal.steps.length;
    await ensureRecord(deps, event);
    expect(mortal.steps.slice(steps)).toEqual(['videos.get']);
  });

  test('with large options reserves memory for its whole input', async () => {
    const event = await installation.charge({ 'acme/first': CHARGE });
    const { video_id: id } = event.data;
    const request = { model: 'x/y', prompt: 'a cat', duration: 4, callback_url: 'https://example.test/' };
    const options = { reference: 'x'.repeat(OPTIONS_BYTES) };
    const parsed = videosRequest.parse({ ...request, provider_options: options });
    const stored = await installation.inputs.put(id, parsed, null);
    expect(await installation.inputs.summary(id)).toEqual(stored);
    const deps = installation.depsOf({ first: new TestMaker() }, new Mortal(null));
    const take = vi.spyOn(deps.largeBodies, 'take');
    await ensureRecord(deps, event);
    await installation.work(deps, event);
    const [wanted = 0] = take.mock.calls[0] ?? [];
    expect(wanted).toBeGreaterThan(2 * OPTIONS_BYTES);
    expect(await installation.read(event)).toMatchObject({
      state: 'completed',
      callback_url: request.callback_url,
    });
    expect(await installation.inputs.summary(id)).toEqual({ bytes: 0, callbackUrl: null });
  });

  test('whose event is replayed after its record expired is ignored', async () => {
    const makers = { first: new TestMaker() };
    const event = await installation.charge({ 'acme/first': CHARGE });
    const deps = installation.depsOf(makers, new Mortal(null));
    await ensureRecord(deps, event);
    await installation.work(deps, event);
    const delivered = await installation.publishedEvents(event.data.video_id);
    // The record expires. The consumer is deleted and reads the stream, which is kept longer, from the first event.
    await installation.videos.delete(`${event.data.org}.${event.data.video_id}`);
    installation.clock.advance(EVENT_AGE_MS_MAX + 1);
    await ensureRecord(deps, event);
    await expect(installation.read(event)).rejects.toThrow('no record');
    expect(await installation.publishedEvents(event.data.video_id)).toEqual(delivered);
    expect(makers.first.starts.length).toBe(1);
  });

  test('that waited for almost its whole lifetime is taken, only to be refunded', async () => {
    const event = await installation.charge({ 'acme/first': CHARGE });
    const deps = installation.depsOf({ first: new TestMaker() }, new Mortal(null));
    installation.clock.advance(EVENT_AGE_MS_MAX);
    await ensureRecord(deps, event);
    await installation.work(deps, event);
    expect(await installation.read(event)).toMatchObject({
      state: 'failed',
      refunded_nano: String(CHARGE),
    });
  });

  const hide = async (event: Event<'video.charged'>) => {
    const entry = await installation.videos.get(`${event.data.org}.${event.data.video_id}`);
    if (!entry) throw new Error('no record');
    await installation.videos.update(entry.key, { ...entry.value, deleted: true }, entry.revision);
  };

  test('that finds the result store full is downloaded again every few minutes until there is room', async () => {
    const { bus, clock } = installation;
    const resize = (max_bytes: number) => bus.jsm.streams.update('OBJ_video-results', { max_bytes });
    const { bytes } = (await bus.jsm.streams.info('OBJ_video-results')).state;
    const maker = new TestMaker({ statusChecks: 1 });
    const looksAt: number[] = [];
    const status = maker.status.bind(maker);
    maker.status = async (...args) => {
      looksAt.push(clock.now());
      if (looksAt.length === 3) await resize(OBJECT_STORES['video-results'].maxBytes);
      return status(...args);
    };
    const deps = installation.depsOf({ first: maker }, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(deps, event);
    await resize(bytes + VIDEO.length / 2);
    await installation.work(deps, event);
    const [first = 0, second = 0, third = 0] = looksAt;
    expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(60_000);
    expect(await installation.read(event)).toMatchObject({ state: 'completed', refunded_nano: '0' });
  });

  test('has a result whose lifetime starts with its first bytes', async () => {
    const { clock } = installation;
    const maker = new TestMaker({ statusChecks: 1 });
    let begunAt = 0;
    maker.status = async () => ({ state: 'completed', mediaType: 'video/mp4', bytes: slowly() });
    async function* slowly() {
      begunAt = clock.now();
      yield VIDEO;
      clock.advance(LEASE_MS / 10);
    }
    const deps = installation.depsOf({ first: maker }, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(deps, event);
    await installation.work(deps, event);
    const { result, ended_at } = await installation.read(event);
    expect(Date.parse(result?.expires_at ?? '')).toBe(begunAt + VIDEO_RESULT_HOURS * 3_600_000);
    expect(Date.parse(ended_at ?? '')).toBeGreaterThan(begunAt);
  });

  test('that is deleted before a maker accepts it is refunded', async () => {
    const makers = { first: new TestMaker() };
    const deps = installation.depsOf(makers, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(deps, event);
    await hide(event);
    await installation.work(deps, event);
    expect(makers.first.starts).toEqual([]);
    expect((await installation.publishedEvents(event.data.video_id)).map(({ data }) => data)).toMatchObject([
      { reason: 'deleted', cost_nano: String(CHARGE), seconds: 4 },
      { error_code: 'deleted' },
    ]);
  });

  test('that is deleted while it is rendered stops rendering', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const maker = new TestMaker({ idempotent: true });
    maker.status = (_taken, _input, signal) => {
      begun.resolve(signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    };
    const deps = installation.depsOf({ first: maker }, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(deps, event);
    const working = installation.work(deps, event);
    const signal = await begun.promise;
    await hide(event);
    installation.clock.advance(LEASE_MS / 2); // a lease renewal detects the deletion
    await working;
    expect(signal.aborted).toBe(true);
    expect((await installation.read(event)).state).toBe('cancelled');
  });

  test('that is deleted during a status check is cancelled at its maker and stays charged', async () => {
    const maker = new TestMaker({ statusChecks: Number.POSITIVE_INFINITY });
    const status = maker.status.bind(maker);
    maker.status = async (taken, input, signal) => {
      maker.status = status;
      await hide(event); // while the worker holds the lease, between two of its writes
      return status(taken, input, signal);
    };
    const deps = installation.depsOf({ first: maker }, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(deps, event);
    await installation.work(deps, event);
    expect(await installation.read(event)).toMatchObject({ state: 'cancelled', refunded_nano: '0' });
    expect(maker.cancels.length).toBe(1);
    expect(await installation.publishedEvents(event.data.video_id)).toEqual([]);
  });
});
