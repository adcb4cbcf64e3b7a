// When a run ends by itself, and with how many billable milliseconds.
import { FakeClock } from '@switchyard/testing';
import { expect, test } from 'vitest';
import type { Container } from '../computer/container.ts';
import { BillableClock } from '../metering/billable-clock.ts';
import type { RunHolds } from '../metering/run-holds.ts';
import { Run, type RunOptions } from './run.ts';

const limits = { idleStopMs: 120_000, maxLifetimeMs: 600_000 };
const container = { init: null } as unknown as Container; // only times matter here
const holds = null as unknown as RunHolds;

function openRun(times: Partial<RunOptions> = {}) {
  const clock = new FakeClock(0);
  const billable = new BillableClock(clock);
  const zero = { elapsedMs: 0, ageMs: 0, idleMs: 0, minutesPublished: 0 };
  return { clock, billable, run: new Run({ container, holds, clock, billable, limits, ...zero, ...times }) };
}

test('it is idle at the end of the window and not a millisecond before', () => {
  const { clock, run } = openRun();
  clock.advance(119_999);
  expect(run.due()).toBeNull();
  clock.advance(1);
  expect(run.due()).toEqual({ reason: 'idle', elapsedMs: 119_999 + 1 - 60_000 });
});

test('ended late, it ends when it was due, or when its container ended by itself', () => {
  const { clock, run } = openRun();
  run.paidMs = 30_000;
  clock.advance(29_000);
  expect(run.endNow('user')).toEqual({ reason: 'user', elapsedMs: 29_000 });
  clock.advance(20_000);
  expect(run.endNow('user')).toEqual({ reason: 'insufficient_funds', elapsedMs: 30_000 });
  run.setEnded('exited');
  run.paidMs = Number.POSITIVE_INFINITY;
  expect(run.endNow('user')).toEqual({ reason: 'exited', elapsedMs: 30_000 });
  run.setEnded('out_of_memory');
  expect(run.endNow('user')).toEqual({ reason: 'out_of_memory', elapsedMs: 30_000 });
});

test('a late timer is not billed: the run ends at the announced time', () => {
  const { clock, billable, run } = openRun();
  for (let second = 0; second < 150; second++) {
    clock.advance(1_000);
    billable.heard();
  }
  expect(run.due()).toEqual({ reason: 'idle', elapsedMs: 120_000 });
});

test('a command keeps it running, and the idle window restarts at the end of the last one', () => {
  const { clock, run } = openRun();
  clock.advance(100_000);
  const first = run.beginCommand();
  const second = run.beginCommand();
  clock.advance(300_000);
  first();
  first(); // ending twice counts once
  clock.advance(119_999);
  expect(run.due()).toBeNull();
  expect(run.idleSince).toBeNull();
  second();
  expect(run.idleSince).toEqual(new Date(519_999));
  clock.advance(80_000);
  expect(run.due()).toBeNull();
});

test('its lifetime ends it even while a command runs', () => {
  const { clock, run } = openRun();
  run.beginCommand();
  clock.advance(599_999);
  expect(run.due()).toBeNull();
  clock.advance(1);
  expect(run.due()).toMatchObject({ reason: 'max_lifetime' });
});

test('the next look is at the next end of a minute, of the window or of the lifetime', () => {
  const { clock, billable, run } = openRun({ elapsedMs: 20_000, ageMs: 20_000, idleMs: 20_000 });
  expect(run.nextLookMs()).toBe(40_000);
  clock.advance(40_000);
  billable.heard();
  expect(run.nextLookMs()).toBe(0); // an uncharged minute is over
  run.minutesPublished = 1;
  expect(run.nextLookMs()).toBe(60_000);
  const ended = run.beginCommand();
  clock.advance(45_000);
  billable.heard();
  expect(run.nextLookMs()).toBe(15_000);
  ended();
  expect(run.nextLookMs()).toBe(15_000);
});
