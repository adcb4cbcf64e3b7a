import { FakeClock } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { BUDGET_WAIT_MS_MAX, ByteBudget, type TakeOptions } from './byte-budget.ts';
import { watchByteBudget } from './metrics.ts';

const { signal } = new AbortController();
/** With a budget of 100 bytes, each org may hold 50. */
const A = { org: 'org_a', signal };
const B = { org: 'org_b', signal };
const C = { org: 'org_c', signal };

function setUp() {
  const clock = new FakeClock();
  return { clock, budget: new ByteBudget({ bytesMax: 100, clock }) };
}

/** Requests each in turn; `given` lists the requests that were granted. */
function askFor(budget: ByteBudget, ...asked: [bytes: number, options: TakeOptions][]) {
  const given: number[] = [];
  const takes = asked.map(([bytes, options], index) =>
    budget.take(bytes, options).then((held) => {
      given.push(index);
      return held;
    }),
  );
  for (const take of takes) take.catch(() => {});
  return { given, takes };
}

describe('a byte budget', () => {
  it('shows held bytes and waiting requests in the metrics', async () => {
    const { budget } = setUp();
    const metrics = new Registry();
    watchByteBudget(metrics, budget);
    await budget.take(40, A);
    askFor(budget, [40, A]);
    const shown = await metrics.metrics();
    expect(shown).toContain('switchyard_large_bodies_bytes 40\n');
    expect(shown).toContain('switchyard_large_bodies_bytes_max 100\n');
    expect(shown).toContain('switchyard_large_bodies_waiting 1\n');
  });

  it('grants at once what fits, and never more than it has', async () => {
    const { budget } = setUp();
    const { takes } = askFor(budget, [50, A], [50, B], [1, C]);
    await Promise.all(takes.slice(0, 2));
    expect(budget).toMatchObject({ held: 100, waiting: 1 });
  });

  it('grants one org at most its share, and serves other orgs past requests that wait for that share', async () => {
    const { budget } = setUp();
    const { given, takes } = askFor(budget, [40, A], [20, A], [10, A], [50, B]);
    const [first] = await Promise.all([takes[0], takes[3]]);
    expect(given).toEqual([0, 3]); // 10 bytes would fit into the share but do not overtake the 20
    expect(budget).toMatchObject({ held: 90, waiting: 2 });
    first?.release();
    await Promise.all(takes);
    expect(budget).toMatchObject({ held: 80, waiting: 0 });
  });

  it('serves in the order of requests: a small one does not overtake a large one', async () => {
    const { budget } = setUp();
    const { given, takes } = askFor(budget, [50, A], [40, B], [20, C], [5, B]);
    const first = await takes[0];
    await takes[1];
    expect(given).toEqual([0, 1]);
    first?.release();
    await Promise.all(takes);
    expect(given).toEqual([0, 1, 2, 3]);
    expect(budget).toMatchObject({ held: 65, waiting: 0 });
  });

  it('counts a release once, even when it is repeated', async () => {
    const { budget } = setUp();
    const [one] = await Promise.all([budget.take(20, A), budget.take(30, A)]);
    one.release();
    one.release();
    expect(budget.held).toBe(30);
    askFor(budget, [21, A]);
    expect(budget.waiting).toBe(1); // the share counts it once, too
  });

  it('removes a waiting client that goes away, and serves those behind it', async () => {
    const { budget, clock } = setUp();
    const gone = new AbortController();
    await Promise.all([budget.take(50, A), budget.take(30, B)]);
    const leaving = budget.take(40, { org: 'org_c', signal: gone.signal });
    const { given, takes } = askFor(budget, [20, C]);
    gone.abort(new Error('gone'));
    await expect(leaving).rejects.toThrow('gone');
    await takes[0];
    expect(given).toEqual([0]);
    expect(budget).toMatchObject({ held: 100, waiting: 0 });
    expect(clock.waiting).toBe(0);
  });

  it('refuses with a coded error and a retry time when the maximum wait is over', async () => {
    const { budget, clock } = setUp();
    await budget.take(50, A);
    const waiting = budget.take(1, A);
    clock.advance(BUDGET_WAIT_MS_MAX - 1);
    expect(budget.waiting).toBe(1);
    clock.advance(1);
    await expect(waiting).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 10 });
    expect(budget).toMatchObject({ held: 50, waiting: 0 });
  });

  it('grants the whole share to a request that is larger than the share', async () => {
    const { budget } = setUp();
    const one = await budget.take(10, A);
    const { takes } = askFor(budget, [1_000, A]);
    expect(budget.waiting).toBe(1);
    one.release();
    await takes[0];
    expect(budget.held).toBe(50);
  });

  it('grants a request that holds bytes already at most the rest of the share, before those that hold none', async () => {
    const { budget } = setUp();
    const body = await budget.take(30, A);
    const { given, takes } = askFor(budget, [40, A], [40, { ...A, held: 30 }]);
    const more = await takes[1];
    expect(more?.amount).toBe(20);
    expect((await budget.take(40, { ...A, held: 50 })).amount).toBe(0);
    expect(given).toEqual([1]);
    more?.release();
    body.release();
    await takes[0];
    expect(budget).toMatchObject({ held: 40, waiting: 0 });
  });

  it('refuses a client that has already gone away', async () => {
    const { budget } = setUp();
    const gone = { org: 'org_a', signal: AbortSignal.abort(new Error('gone')) };
    await expect(budget.take(1, gone)).rejects.toThrow('gone');
    expect(budget.held).toBe(0);
  });
});
