import { FakeClock } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { BUDGET_WAIT_MS_MAX, ByteBudget } from './byte-budget.ts';
import { watchByteBudget } from './byte-budget-gauges.ts';

const here = new AbortController().signal;

function setUp() {
  const clock = new FakeClock();
  return { clock, budget: new ByteBudget({ bytesMax: 100, clock }) };
}

/** Asks for each in turn, and tells which of them have been given theirs. */
function askFor(budget: ByteBudget, bytes: number[], signal = here) {
  const given: number[] = [];
  const takes = bytes.map((wanted, index) =>
    budget.take(wanted, signal).then((held) => {
      given.push(index);
      return held;
    }),
  );
  for (const take of takes) take.catch(() => {});
  return { given, takes };
}

describe('a byte budget', () => {
  it('shows in the metrics what is held and who waits', async () => {
    const { budget } = setUp();
    const metrics = new Registry();
    watchByteBudget(metrics, budget);
    await budget.take(70, here);
    askFor(budget, [40]);
    const shown = await metrics.metrics();
    expect(shown).toContain('switchyard_large_bodies_bytes 70\n');
    expect(shown).toContain('switchyard_large_bodies_bytes_max 100\n');
    expect(shown).toContain('switchyard_large_bodies_waiting 1\n');
  });

  it('gives what fits at once and never lends more than it has', async () => {
    const { budget } = setUp();
    const { takes } = askFor(budget, [60, 40, 1]);
    await Promise.all(takes.slice(0, 2));
    expect(budget).toMatchObject({ held: 100, waiting: 1 });
  });

  it('serves in the order of asking: a small one does not overtake a large one', async () => {
    const { budget } = setUp();
    const { given, takes } = askFor(budget, [80, 90, 10]);
    const first = await takes[0];
    expect(given).toEqual([0]);
    first?.release();
    await Promise.all(takes);
    expect(given).toEqual([0, 1, 2]);
    expect(budget).toMatchObject({ held: 100, waiting: 0 });
  });

  it('counts a release once, however often it is called', async () => {
    const { budget } = setUp();
    const [one] = await Promise.all([budget.take(50, here), budget.take(50, here)]);
    one.release();
    one.release();
    expect(budget.held).toBe(50);
  });

  it('lets a client that goes away leave the queue, and those behind it go on', async () => {
    const { budget, clock } = setUp();
    const gone = new AbortController();
    await budget.take(60, here);
    const leaving = budget.take(90, gone.signal);
    const { given, takes } = askFor(budget, [40]);
    gone.abort(new Error('gone'));
    await expect(leaving).rejects.toThrow('gone');
    await takes[0];
    expect(given).toEqual([0]);
    expect(budget).toMatchObject({ held: 100, waiting: 0 });
    expect(clock.waiting).toBe(0);
  });

  it('refuses with a coded error and a time to come back when the wait is over', async () => {
    const { budget, clock } = setUp();
    await budget.take(100, here);
    const waiting = budget.take(1, here);
    clock.advance(BUDGET_WAIT_MS_MAX - 1);
    expect(budget.waiting).toBe(1);
    clock.advance(1);
    await expect(waiting).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 10 });
    expect(budget).toMatchObject({ held: 100, waiting: 0 });
  });

  it('gives one that wants more than there is the whole, alone', async () => {
    const { budget } = setUp();
    const one = await budget.take(10, here);
    const { takes } = askFor(budget, [1_000]);
    expect(budget.waiting).toBe(1);
    one.release();
    await takes[0];
    expect(budget.held).toBe(100);
  });

  it('refuses a client that is gone already', async () => {
    const { budget } = setUp();
    await expect(budget.take(1, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(budget.held).toBe(0);
  });
});
