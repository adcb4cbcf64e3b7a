// Billing while a host is silent, and after a restart of its agent.
import { type ComputerRun, HOST_SILENT_MS_MAX } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { describe, expect, test } from 'vitest';
import { BillableClock } from './billable-clock.ts';
import { billableWhenLost, billableWhenResumed } from './resumed-run.ts';

describe('the billable clock', () => {
  test('runs with the monotonic clock while the host is heard, whatever the wall clock does', () => {
    const clock = new FakeClock();
    const billable = new BillableClock(clock);
    const begin = billable.now();
    for (let second = 0; second < 300; second++) {
      clock.advance(1_000);
      clock.step(-5_000);
      billable.heard();
    }
    expect(billable.now() - begin).toBe(300_000);
  });

  test('counts the first minute of a silence, and nothing beyond it', () => {
    const clock = new FakeClock();
    const billable = new BillableClock(clock);
    const begin = billable.now();
    clock.advance(HOST_SILENT_MS_MAX);
    expect(billable.now() - begin).toBe(HOST_SILENT_MS_MAX);
    clock.advance(1);
    expect(billable.now() - begin).toBe(HOST_SILENT_MS_MAX);
    clock.advance(3_600_000);
    billable.heard();
    expect(billable.now() - begin).toBe(HOST_SILENT_MS_MAX);
    clock.advance(10);
    expect(billable.now() - begin).toBe(HOST_SILENT_MS_MAX + 10);
  });
});

test('returns its value at an earlier moment, also in a silence, before and after the host is heard', () => {
  const clock = new FakeClock();
  const billable = new BillableClock(clock);
  const begin = billable.now();
  clock.advance(1_000_000);
  const expectThen = () => {
    expect(billable.at(30_000) - begin).toBe(30_000);
    expect(billable.at(HOST_SILENT_MS_MAX + 500_000) - begin).toBe(HOST_SILENT_MS_MAX);
  };
  expectThen();
  billable.heard();
  expectThen();
  clock.advance(5_000);
  billable.heard();
  expectThen();
  expect(billable.at(1_002_000) - begin).toBe(HOST_SILENT_MS_MAX + 2_000);
});

const at = (ms: number) => new Date(ms).toISOString();
const runAt = (anchoredAt: number, anchoredMs: number): ComputerRun => ({
  number: 1,
  started_at: at(0),
  minutes_charged: 0,
  anchored_ms: anchoredMs,
  anchored_at: at(anchoredAt),
});

describe('a run found by a restarted agent', () => {
  test('continues without a gap when the agent was down for less than a minute', () => {
    expect(billableWhenResumed(runAt(10_000, 7_000), 40_000, 90_000)).toBe(7_000 + 80_000);
  });

  test('is billed for one minute of a longer absence', () => {
    expect(billableWhenResumed(runAt(10_000, 7_000), 40_000, 10_000_000)).toBe(7_000 + 30_000 + 60_000);
  });

  test('is billed the same if the agent dies again before it is heard', () => {
    const first = billableWhenResumed(runAt(10_000, 0), 40_000, 200_000);
    const again = billableWhenResumed(runAt(200_000, first), 40_000, 200_000);
    expect(again).toBe(first);
  });

  test('is never billed less when the wall clock went back', () => {
    expect(billableWhenResumed(runAt(10_000, 7_000), 9_000, 5_000)).toBe(7_000);
    expect(billableWhenLost(runAt(10_000, 7_000), 5_000)).toBe(7_000);
  });

  test('that ended is billed until it was last known to run', () => {
    expect(billableWhenLost(runAt(10_000, 7_000), 40_000)).toBe(37_000);
  });
});
