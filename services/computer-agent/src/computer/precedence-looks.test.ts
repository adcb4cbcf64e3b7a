// What one look after the other makes of what computers use, on a host of two cores whose use is made up; real containers:
// precedence.test.ts.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CpuCgroup } from '../docker/cpu-cgroup.ts';
import { LIMIT_MIN } from './burst-limits.ts';
import { openPrecedence, type PrecedenceOptions } from './precedence.ts';

const CORES = 2;
const CEILING = 4;
const LOOK_MS = 50;
const SMALL = 0.25;

/** Uses so many cores, and remembers what it was given. */
class Load implements CpuCgroup {
  cores = 0;
  ended = false;
  closed = false;
  readonly limits: number[] = [];
  shares = 0;
  #usedMs = 0;

  pass(ms: number): void {
    this.#usedMs += this.cores * ms;
  }
  usedMs(): number {
    if (this.ended) throw new Error('ENODEV');
    return this.#usedMs;
  }
  setShares(shares: number): void {
    this.shares = shares;
  }
  hasShares(shares: number): boolean {
    return this.shares === shares;
  }
  setLimit(cores: number): void {
    if (this.ended) throw new Error('ENODEV');
    this.limits.push(cores);
  }
  raiseEngine(): void {}
  close(): void {
    this.closed = true;
  }
}

let loads: Load[];
let nowMs: number;
let idleMs: number;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  loads = [];
  nowMs = idleMs = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

function makeLoad(): Load {
  const load = new Load();
  loads.push(load);
  return load;
}

function open(options: Partial<PrecedenceOptions> = {}) {
  return openPrecedence({
    cores: CORES,
    coresMax: CEILING,
    idleMs: () => idleMs,
    now: () => nowMs,
    ...options,
  });
}

function pass(ms: number): void {
  for (let passed = 0; passed < ms; passed += LOOK_MS) {
    nowMs += LOOK_MS;
    for (const load of loads) load.pass(LOOK_MS);
    idleMs += Math.max(0, CORES - loads.reduce((sum, { cores }) => sum + cores, 0)) * LOOK_MS;
    vi.advanceTimersByTime(LOOK_MS);
  }
}

test('who computes has a limit as soon as another is at work, and its ceiling again when that one rests', () => {
  const precedence = open();
  const [builder, neighbour] = [makeLoad(), makeLoad()];
  precedence.watch(builder, SMALL);
  precedence.watch(neighbour, SMALL);
  builder.cores = 1.5;
  pass(2_000);
  expect(builder.limits).toEqual([CEILING]);
  neighbour.cores = 0.1;
  pass(LOOK_MS);
  expect(builder.limits.at(-1)).toBeLessThan(CORES);
  expect(neighbour.limits).toEqual([CEILING]);
  neighbour.cores = 0;
  pass(2_000);
  expect(builder.limits.at(-1)).toBe(CEILING);
});

test('a limit is written when it has become another, not at each look', () => {
  const precedence = open();
  const [builder, neighbour] = [makeLoad(), makeLoad()];
  precedence.watch(builder, SMALL);
  precedence.watch(neighbour, SMALL);
  builder.cores = 1;
  neighbour.cores = 0.1;
  pass(10_000);
  expect(builder.limits.length).toBeLessThan(10);
});

test('while its processes are to end, it has all that it may have', () => {
  const precedence = open();
  const [bomb, neighbour] = [makeLoad(), makeLoad()];
  const watch = precedence.watch(bomb, SMALL);
  precedence.watch(neighbour, SMALL);
  bomb.cores = 1.5;
  neighbour.cores = 0.1;
  pass(1_000);
  expect(bomb.limits.at(-1)).toBeLessThan(CORES);
  const [letDown, letDownToo] = [watch.lift(), watch.lift()];
  letDown();
  pass(1_000);
  expect(bomb.limits.at(-1)).toBe(CEILING);
  letDownToo();
  pass(LOOK_MS);
  expect(bomb.limits.at(-1)).toBeLessThan(CORES);
});

test('where too much is promised to all, who computes still gets the least that there is', () => {
  const precedence = open();
  const [builder, neighbour] = [makeLoad(), makeLoad()];
  precedence.watch(builder, SMALL);
  precedence.watch(neighbour, 64);
  builder.cores = 2;
  neighbour.cores = 0.2;
  pass(1_000);
  neighbour.cores = 2;
  pass(LOOK_MS);
  expect(builder.limits.at(-1)).toBeGreaterThanOrEqual(LIMIT_MIN);
});

test('one that has ended is watched no longer, and the others are', () => {
  const precedence = open();
  const [gone, builder, neighbour] = [makeLoad(), makeLoad(), makeLoad()];
  for (const load of [gone, builder, neighbour]) precedence.watch(load, SMALL);
  builder.cores = 1.5;
  neighbour.cores = 0.1;
  gone.ended = true;
  pass(1_000);
  expect([gone.closed, builder.closed]).toEqual([true, false]);
  expect(builder.limits.at(-1)).toBeLessThan(CORES);
});

test('one that was heavy with the agent before is heavy, and keeps its limit until a look has another one for it', () => {
  const before = open();
  const [builder, neighbour] = [makeLoad(), makeLoad()];
  for (const load of loads) before.watch(load, SMALL);
  builder.cores = 1.5;
  neighbour.cores = 0.1;
  pass(1_000);
  vi.clearAllTimers(); // that agent was killed
  const [heavyShares, lightShares] = [builder.shares, neighbour.shares];
  expect(heavyShares).toBeLessThan(lightShares);
  const limitsBefore = [...builder.limits];
  const next = open();
  for (const load of loads) next.watch(load, SMALL);
  expect(builder.limits).toEqual(limitsBefore);
  pass(1_000);
  expect(Math.max(...builder.limits.slice(limitsBefore.length))).toBeLessThan(CORES);
  expect([builder.shares, neighbour.shares]).toEqual([heavyShares, lightShares]);
  builder.cores = 0;
  pass(2_000);
  expect([builder.shares, builder.limits.at(-1)]).toEqual([lightShares, CEILING]);
});

test('an agent that goes leaves nobody with a limit, and closes what it opened', () => {
  const precedence = open();
  const [builder, neighbour] = [makeLoad(), makeLoad()];
  const watches = [precedence.watch(builder, SMALL), precedence.watch(neighbour, SMALL)];
  builder.cores = 1.5;
  neighbour.cores = 0.1;
  pass(1_000);
  expect(builder.limits.at(-1)).toBeLessThan(CORES);
  for (const watch of watches) watch.close();
  expect(builder.limits.at(-1)).toBe(CEILING);
  expect(loads.every(({ closed }) => closed)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('where the kernel does not tell when the host is idle, there are weights and no limits', () => {
  const precedence = open({ idleMs: undefined });
  const [builder, neighbour] = [makeLoad(), makeLoad()];
  precedence.watch(builder, SMALL);
  precedence.watch(neighbour, SMALL);
  const before = builder.shares;
  builder.cores = 1.5;
  neighbour.cores = 0.1;
  pass(1_000);
  expect(builder.shares).toBeLessThan(before);
  expect(builder.limits).toEqual([CEILING]);
});
