// The start protocol, with a worker that dies at every single step it takes, before and after it, and another one that
// finds what is left. Real NATS; makers of the test's own.
import type { Event } from '@switchyard/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Installation, JOB_MS_MAX, startInstallation } from '../fixtures/installation.ts';
import { type Death, Died, Mortal } from '../fixtures/mortal.ts';
import { type Habits, TestMaker, VIDEO } from '../fixtures/test-maker.ts';
import { LEASE_MS } from './held-job.ts';
import { EVENT_AGE_MS_MAX, ensureRecord } from './new-record.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
}, 60_000);
afterAll(() => installation?.stop());

/** More steps than any job takes. */
const STEPS_MAX = 60;
const CHARGE = 400;
const CHEAPER = 150;

interface Scenario {
  first: Partial<Habits>;
  second?: Partial<Habits>;
}

/** Runs one job by a worker that dies, then by one that does not; returns what came of it, and whether the first died. */
async function run({ first, second }: Scenario, death: Death | null) {
  const makers: Record<string, TestMaker> = {
    first: new TestMaker(first),
    ...(second ? { second: new TestMaker(second) } : {}),
  };
  const prices = { 'acme/first': CHARGE, ...(second ? { 'acme/second': CHEAPER } : {}) };
  const event = await installation.charge(prices);
  const mortal = new Mortal(death);
  const dying = installation.surroundings(makers, mortal);
  await untilDeath(async () => {
    await ensureRecord(dying, event);
    await installation.work(dying, event);
  });
  const { isDead, steps } = mortal;
  if (isDead) {
    installation.clock.advance(LEASE_MS + 1);
    const living = installation.surroundings(makers, new Mortal(null));
    await ensureRecord(living, event); // the event comes again
    await installation.work(living, event);
  }
  const record = await installation.read(event);
  const told = await installation.told(record.id);
  return { record, told, makers, isDead, steps };
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

/** What must be true whatever happened: told once, paid once, nothing left to do. */
function expectWhole({ record, told, makers }: Outcome): void {
  expect(record.news).toEqual([]);
  expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
  const refunded = told.reduce((sum, event) => sum + (isRefund(event) ? Number(event.data.cost_nano) : 0), 0);
  expect(refunded).toBe(Number(record.refunded_nano));
  const ends = told.filter(({ type }) => type === 'video.completed' || type === 'video.failed');
  expect(ends.map(({ type }) => type)).toEqual([`video.${record.state}`]);
  if (record.state === 'failed') expect(refunded).toBe(CHARGE);
  else expect(refunded).toBe(record.model === 'acme/second' ? CHARGE - CHEAPER : 0);
  for (const maker of Object.values(makers)) {
    if (!maker.habits.idempotent) expect(maker.starts.length, 'asked once').toBeLessThanOrEqual(1);
    expect(maker.jobs.size, 'one job at a maker').toBeLessThanOrEqual(1);
  }
}

/** Lets the worker die at each of its steps in turn. */
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
    if (!outcome.isDead) return expect(step).toBeGreaterThan(10); // it lived to the end: all steps were tried
  }
  throw new Error('a job has more steps than that?');
}

describe.each(['before', 'after'] as const)('a worker that dies %s any step', (when) => {
  test(
    'leaves a job that a maker without promises is asked for at most once, and is paid or refunded',
    () =>
      everyDeath({ first: {} }, when, ({ record, makers }) => {
        if (record.state === 'completed') expect(makers.first?.jobs.size).toBe(1);
        else expect(record.error?.code).toBe('upstream_error');
      }),
    180_000,
  );

  test(
    'leaves a job that always ends well at a maker that knows its own keys',
    () =>
      everyDeath({ first: { idempotent: true } }, when, ({ record }) => {
        expect(record.state).toBe('completed');
        expect(record.result).toMatchObject({ media_type: 'video/mp4', bytes: VIDEO.length });
      }),
    180_000,
  );

  test(
    'leaves a failure that is refunded once, and exactly',
    () =>
      everyDeath({ first: { idempotent: true, end: 'failed' } }, when, ({ record }) => {
        expect(record).toMatchObject({ state: 'failed', error: { code: 'video_failed' } });
      }),
    180_000,
  );

  test(
    'leaves a fallback whose difference is given back once, also where it fails later',
    () =>
      everyDeath(
        { first: { idempotent: true, start: 'unavailable' }, second: { idempotent: true, end: 'failed' } },
        when,
        ({ record, told }) => {
          expect(record.state).toBe('failed');
          const refunds = told.filter(isRefund) as Event<'video.refunded'>[];
          const amounts = refunds.map(({ data }) => [data.reason, data.cost_nano]);
          expect(amounts).toEqual([
            ['cheaper_model', String(CHARGE - CHEAPER)],
            ['failed', String(CHEAPER)],
          ]);
        },
      ),
    180_000,
  );
});

describe('a job', () => {
  test('that nobody disturbs is started once, looked at until it is done, and leaves no input behind', async () => {
    const outcome = await run({ first: { looks: 5 } }, null);
    expectWhole(outcome);
    expect(outcome.record.state).toBe('completed');
    expect(await installation.inputs.read(outcome.record.id)).toBeNull();
    const stored = await installation.results.get(outcome.record.id);
    const chunks: Buffer[] = [];
    for await (const chunk of stored?.body ?? []) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(VIDEO)).toBe(true);
  });

  test('that a maker refuses is asked of no other', async () => {
    const outcome = await run({ first: { start: 'refuse' }, second: {} }, null);
    expectWhole(outcome);
    expect(outcome.record).toMatchObject({ state: 'failed', error: { code: 'upstream_rejected' } });
    expect(outcome.makers.second?.starts).toEqual([]);
  });

  test('that nobody can take tells who was asked', async () => {
    const unavailable = { start: 'unavailable' } as const;
    const { record, told } = await run({ first: unavailable, second: unavailable }, null);
    expect(record.error?.code).toBe('upstream_error');
    expect(record.attempts.map(({ model, status }) => [model, status])).toEqual([
      ['acme/first', 503],
      ['acme/second', 503],
    ]);
    expect(told.at(-1)?.data).toMatchObject({ attempts: record.attempts });
  });

  test('that is not done in time is ended at the maker, and refunded', async () => {
    const makers = { first: new TestMaker({ looks: Number.POSITIVE_INFINITY }) };
    const event = await installation.charge({ 'acme/first': CHARGE });
    const on = installation.surroundings(makers, new Mortal(null));
    await ensureRecord(on, event);
    const working = installation.work(on, event).catch((error: unknown) => error);
    await working; // LOOKS_MAX looks did not end it
    installation.clock.advance(JOB_MS_MAX);
    await installation.work(on, event);
    expect(await installation.read(event)).toMatchObject({
      state: 'failed',
      error: { code: 'upstream_timeout' },
      refunded_nano: String(CHARGE),
    });
    expect(makers.first.cancels.length).toBe(1);
  });

  test('whose event comes late, or twice, is not begun anew, not even after it was deleted', async () => {
    const makers = { first: new TestMaker() };
    const event = await installation.charge({ 'acme/first': CHARGE });
    const on = installation.surroundings(makers, new Mortal(null));
    await Promise.all([ensureRecord(on, event), ensureRecord(on, event)]);
    await installation.work(on, event);
    const key = `${event.data.org}.${event.data.video_id}`;
    const entry = await installation.videos.get(key);
    if (!entry) throw new Error('no record');
    await installation.videos.update(key, { ...entry.value, deleted: true }, entry.revision);
    await ensureRecord(on, event);
    await installation.work(on, event);
    expect(makers.first.starts.length).toBe(1);
    expect(await installation.read(event)).toMatchObject({ deleted: true, state: 'completed' });
  });

  test('whose event is read again when its record has come to the end of its life is left alone', async () => {
    const makers = { first: new TestMaker() };
    const event = await installation.charge({ 'acme/first': CHARGE });
    const on = installation.surroundings(makers, new Mortal(null));
    await ensureRecord(on, event);
    await installation.work(on, event);
    const delivered = await installation.told(event.data.video_id);
    // Its record expires; the consumer is deleted, and a stream that is kept for longer is read from its first event.
    await installation.videos.delete(`${event.data.org}.${event.data.video_id}`);
    installation.clock.advance(EVENT_AGE_MS_MAX + 1);
    await ensureRecord(on, event);
    await expect(installation.read(event)).rejects.toThrow('no record');
    expect(await installation.told(event.data.video_id)).toEqual(delivered);
    expect(makers.first.starts.length).toBe(1);
  });

  test('that nobody has taken up for almost as long is begun, though only to be refunded', async () => {
    const event = await installation.charge({ 'acme/first': CHARGE });
    const on = installation.surroundings({ first: new TestMaker() }, new Mortal(null));
    installation.clock.advance(EVENT_AGE_MS_MAX);
    await ensureRecord(on, event);
    await installation.work(on, event);
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

  test('that is deleted before a maker has it is given back', async () => {
    const makers = { first: new TestMaker() };
    const on = installation.surroundings(makers, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(on, event);
    await hide(event);
    await installation.work(on, event);
    expect(makers.first.starts).toEqual([]);
    expect((await installation.told(event.data.video_id)).map(({ data }) => data)).toMatchObject([
      { reason: 'deleted', cost_nano: String(CHARGE), seconds: 4 },
      { error_code: 'deleted' },
    ]);
  });

  test('that is deleted while it is rendered is rendered no further', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const maker = new TestMaker({ idempotent: true });
    maker.status = (_taken, _input, signal) => {
      begun.resolve(signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    };
    const on = installation.surroundings({ first: maker }, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(on, event);
    const working = installation.work(on, event);
    const signal = await begun.promise;
    await hide(event);
    installation.clock.advance(LEASE_MS / 2); // a renewal sees it
    await working;
    expect(signal.aborted).toBe(true);
    expect((await installation.read(event)).state).toBe('cancelled');
  });

  test('that is deleted while a worker looks at it is stopped at its maker, and stays charged', async () => {
    const maker = new TestMaker({ looks: Number.POSITIVE_INFINITY });
    const status = maker.status.bind(maker);
    maker.status = async (taken, input, signal) => {
      maker.status = status;
      await hide(event); // under the worker's lease, between two of its writes
      return status(taken, input, signal);
    };
    const on = installation.surroundings({ first: maker }, new Mortal(null));
    const event = await installation.charge({ 'acme/first': CHARGE });
    await ensureRecord(on, event);
    await installation.work(on, event);
    expect(await installation.read(event)).toMatchObject({ state: 'cancelled', refunded_nano: '0' });
    expect(maker.cancels.length).toBe(1);
    expect(await installation.told(event.data.video_id)).toEqual([]);
  });
});
