import { FakeClock } from '@switchyard/testing';
import { beforeEach, expect, test } from 'vitest';
import { BURST_MS_MAX, FairQueue, OVERLOAD_WAIT_MS_MAX, WAITING_MAX } from './fair-queue.ts';

const SLOTS = 16;

let clock: FakeClock;
let queue: FairQueue;
/** The org of each slot that is taken. */
let open: string[];
/** What began, or was refused, in order. */
let log: string[];

beforeEach(() => {
  clock = new FakeClock();
  queue = new FairQueue({ slots: SLOTS, clock });
  open = [];
  log = [];
});

const enter = (org: string, times = 1) => {
  for (let i = 0; i < times; i++)
    queue.enter(org, (refused) => {
      if (!refused) open.push(org);
      log.push(refused ? `${org} ${refused.code}` : org);
    });
};
/** Time passes, and then all that is open ends. */
const serve = (ms = 1) => {
  clock.advance(ms);
  const ended = open;
  open = [];
  queue.leave(...ended);
};
const begun = (org: string) => log.filter((one) => one === org).length;
const refused = (org: string) => log.filter((one) => one === `${org} overloaded`).length;

test('requests begin at once while there are slots, and the others when slots are free', () => {
  enter('a', SLOTS + 1);
  expect([begun('a'), queue.waiting]).toEqual([SLOTS, 1]);
  serve();
  expect([begun('a'), queue.waiting]).toEqual([SLOTS + 1, 0]);
});

test('a queue in which nothing waits has no timer', () => {
  enter('a', SLOTS + 1);
  serve();
  clock.advance(OVERLOAD_WAIT_MS_MAX);
  expect(clock.waiting).toBe(0);
});

test('orgs take turns: the requests of one begin soon, however many another has waiting', () => {
  enter('greedy', 500);
  for (let i = 0; i < 9; i++) enter(`modest ${i}`);
  serve();
  for (let i = 0; i < 9; i++) expect(begun(`modest ${i}`)).toBe(1);
});

test('a burst that fills the queue is served, all of it, when that takes no longer than a burst may', () => {
  enter('a', WAITING_MAX);
  const rounds = WAITING_MAX / SLOTS;
  for (let i = 0; i < rounds; i++) serve(BURST_MS_MAX / (rounds + 1));
  expect(begun('a')).toBe(WAITING_MAX);
});

test('at three times what can be served, requests begin within milliseconds or are refused early', () => {
  const rounds = 1_000;
  const roundMs = 5;
  let longest = 0;
  let served = 0;
  for (let i = 0; i < rounds; i++) {
    const since = clock.monotonic();
    for (let n = 0; n < 3 * SLOTS; n++)
      queue.enter('a', (refusal) => {
        if (refusal) return;
        open.push('a');
        served += 1;
        if (since > 2 * BURST_MS_MAX) longest = Math.max(longest, clock.monotonic() - since);
      });
    serve(roundMs);
  }
  expect(longest).toBeGreaterThan(0);
  expect(longest).toBeLessThanOrEqual(OVERLOAD_WAIT_MS_MAX + roundMs);
  expect(served).toBeGreaterThan(0.95 * rounds * SLOTS);
});

test('under overload by one org, no request of a modest org is refused', () => {
  for (let ms = 0; ms < 3 * BURST_MS_MAX; ms++) {
    enter('greedy', 3 * SLOTS);
    if (ms % 10 === 0) for (let i = 0; i < 9; i++) enter(`modest ${i}`);
    serve();
  }
  expect(refused('greedy')).toBeGreaterThan(0);
  for (let i = 0; i < 9; i++) expect(refused(`modest ${i}`)).toBe(0);
});

test('an org that holds all of its share leaves slots to others, also while its own requests wait', () => {
  queue = new FairQueue({ slots: SLOTS, slotsPerOrg: 12, clock });
  enter('greedy', 100);
  expect([begun('greedy'), queue.waiting]).toEqual([12, 88]);
  enter('modest', SLOTS - 12);
  expect([begun('modest'), queue.waiting]).toEqual([SLOTS - 12, 88]);
  enter('modest');
  queue.leave('modest');
  expect([begun('modest'), begun('greedy')]).toEqual([SLOTS - 12 + 1, 12]);
  queue.leave('greedy');
  expect(begun('greedy')).toBe(13);
});

test('an org that waits for its own requests takes no time from the burst of another', () => {
  queue = new FairQueue({ slots: SLOTS, slotsPerOrg: 12, clock });
  enter('greedy', 12);
  for (let ms = 0; ms < 2 * BURST_MS_MAX; ms += OVERLOAD_WAIT_MS_MAX / 2) {
    enter('greedy');
    clock.advance(OVERLOAD_WAIT_MS_MAX / 2);
  }
  expect(refused('greedy')).toBeGreaterThan(0);
  enter('modest', SLOTS - 12 + 1);
  clock.advance(BURST_MS_MAX);
  expect(refused('modest')).toBe(0);
  queue.leave('modest');
  expect(begun('modest')).toBe(SLOTS - 12 + 1);
});

test('recovers at once: when no more arrives than can be served, nothing is refused', () => {
  for (let ms = 0; ms < 3 * BURST_MS_MAX; ms++) {
    enter('a', 3 * SLOTS);
    serve();
  }
  while (queue.waiting > 0) serve();
  const before = queue.refused;
  for (let ms = 0; ms < 2 * BURST_MS_MAX; ms++) {
    enter('a', SLOTS);
    serve();
  }
  expect(queue.refused).toBe(before);
});

test('waiting requests are bounded, and the org with the most of them loses its latest', () => {
  enter('modest', 10);
  enter('greedy', 2 * WAITING_MAX);
  expect(queue.waiting).toBe(WAITING_MAX);
  expect([refused('modest'), refused('greedy')]).toEqual([0, WAITING_MAX + 10 - SLOTS]);
});

test('while nothing ends, waiting requests are refused early, and say when to come back', () => {
  enter('a', SLOTS);
  let error: unknown;
  queue.enter('a', (refusal) => {
    error = refusal;
  });
  clock.advance(BURST_MS_MAX);
  expect(error).toBeUndefined();
  clock.advance(OVERLOAD_WAIT_MS_MAX);
  expect(error).toMatchObject({ code: 'overloaded', status: 503, retryAfterS: 1 });
});
