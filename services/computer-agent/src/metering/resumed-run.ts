// Billable time of a run that a restarted agent finds in a record. Pure arithmetic on wall clocks; repeatable if the
// agent dies before the result is written.
import { type ComputerRun, HOST_SILENT_MS_MAX, MINUTE_MS } from '@switchyard/contracts';

/**
 * A run is anchored at each minute. If the host seems to have been heard for longer since then, its wall clock was
 * set forwards; the excess is not billed.
 */
export const ANCHOR_AGE_MS_MAX = 2 * MINUTE_MS;

/** When the host was last heard, by the clock of the run's anchor: milliseconds since the epoch. */
function heardAt(run: ComputerRun, lastHeardAt: number): number {
  const anchoredAt = Date.parse(run.anchored_at);
  return Math.min(Math.max(lastHeardAt, anchoredAt), anchoredAt + ANCHOR_AGE_MS_MAX);
}

/**
 * Billable milliseconds of a run that continues.
 * @param lastHeardAt when the host was last heard on the bus, milliseconds since the epoch
 */
export function billableWhenResumed(run: ComputerRun, lastHeardAt: number, now: number): number {
  const anchoredAt = Date.parse(run.anchored_at);
  const billedUntil = Math.min(now, heardAt(run, lastHeardAt) + HOST_SILENT_MS_MAX);
  return run.anchored_ms + Math.max(0, billedUntil - anchoredAt);
}

/** Billable milliseconds of a run that ended while no agent watched: until it was last known to run. */
export function billableWhenLost(run: ComputerRun, lastHeardAt: number): number {
  return run.anchored_ms + heardAt(run, lastHeardAt) - Date.parse(run.anchored_at);
}
