// Billing of a restarted agent if the wall clock was set during its time or its predecessor's.
import { type ComputerRun, HOST_SILENT_MS_MAX, MINUTE_MS } from '@switchyard/contracts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ANCHOR_AGE_MS_MAX, billableWhenLost, billableWhenResumed } from './resumed-run.ts';

const HOUR_MS = 60 * MINUTE_MS;
const NOON = Date.parse('2026-11-30T12:00:00Z');

const runAt = (anchoredAt: number, anchoredMs: number): ComputerRun => ({
  number: 1,
  started_at: new Date(anchoredAt - anchoredMs).toISOString(),
  minutes_charged: 0,
  anchored_ms: anchoredMs,
  anchored_at: new Date(anchoredAt).toISOString(),
});

describe('a run whose host’s wall clock was set', () => {
  test('forwards since its last minute, is not billed for the step, but for three minutes at the most', () => {
    const run = runAt(NOON, 5_000);
    const heard = NOON + 24 * HOUR_MS; // a few seconds later, by the changed clock
    const most = ANCHOR_AGE_MS_MAX + HOST_SILENT_MS_MAX;
    expect(billableWhenResumed(run, heard, heard + 3_000)).toBe(5_000 + most);
    expect(billableWhenLost(run, heard)).toBe(5_000 + ANCHOR_AGE_MS_MAX);
  });

  test('forwards without an agent, is billed for a minute of silence', () => {
    const run = runAt(NOON, 5_000);
    expect(billableWhenResumed(run, NOON + 20_000, NOON + HOUR_MS)).toBe(5_000 + 20_000 + HOST_SILENT_MS_MAX);
  });

  test('backwards, keeps what it was billed for and gets no more', () => {
    const run = runAt(NOON, 5_000);
    expect(billableWhenResumed(run, NOON - HOUR_MS, NOON - HOUR_MS + 3_000)).toBe(5_000);
    expect(billableWhenLost(run, NOON - HOUR_MS)).toBe(5_000);
  });

  test('by any step at any moment: never less than before, never more than three minutes beyond it', () => {
    const offset = fc.integer({ min: -48 * HOUR_MS, max: 48 * HOUR_MS });
    fc.assert(
      fc.property(fc.nat(HOUR_MS), offset, offset, (anchoredMs, heardOff, nowOff) => {
        const run = runAt(NOON, anchoredMs);
        const [heard, now] = [NOON + heardOff, NOON + nowOff];
        for (const billable of [billableWhenResumed(run, heard, now), billableWhenLost(run, heard)]) {
          expect(billable).toBeGreaterThanOrEqual(anchoredMs);
          expect(billable).toBeLessThanOrEqual(anchoredMs + ANCHOR_AGE_MS_MAX + HOST_SILENT_MS_MAX);
        }
      }),
    );
  });

  test('not at all, is billed to the millisecond', () => {
    fc.assert(
      fc.property(fc.nat(MINUTE_MS), fc.nat(HOST_SILENT_MS_MAX), (sinceAnchor, downMs) => {
        const heard = NOON + sinceAnchor;
        expect(billableWhenResumed(runAt(NOON, 7), heard, heard + downMs)).toBe(7 + sinceAnchor + downMs);
      }),
    );
  });
});
