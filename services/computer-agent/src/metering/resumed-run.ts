// How far a run had come when an agent finds it in a record after a restart: pure arithmetic on wall clocks, safe to
// repeat if the agent dies again before its result is written.
import { type ComputerRun, HOST_SILENT_MS_MAX, MINUTE_MS } from '@switchyard/contracts';

/**
 * A run is anchored with each of its minutes. A host that seems to have been heard for longer since then has had its wall
 * clock set forwards: that is not billed.
 */
export const ANCHOR_AGE_MS_MAX = 2 * MINUTE_MS;

/** When the host was last heard, by the clock by which the run was anchored: milliseconds since the epoch. */
function heardAt(run: ComputerRun, lastHeardAt: number): number {
  const anchoredAt = Date.parse(run.anchored_at);
  return Math.min(Math.max(lastHeardAt, anchoredAt), anchoredAt + ANCHOR_AGE_MS_MAX);
}

/**
 * Billable milliseconds of a run that is still on.
 * @param lastHeardAt when the host was last heard on the bus, milliseconds since the epoch
 */
export function billableWhenResumed(run: ComputerRun, lastHeardAt: number, now: number): number {
  const anchoredAt = Date.parse(run.anchored_at);
  const billedUntil = Math.min(now, heardAt(run, lastHeardAt) + HOST_SILENT_MS_MAX);
  return run.anchored_ms + Math.max(0, billedUntil - anchoredAt);
}

/** Billable milliseconds of a run that ended while no agent watched: until it was last known to be on. */
export function billableWhenLost(run: ComputerRun, lastHeardAt: number): number {
  return run.anchored_ms + heardAt(run, lastHeardAt) - Date.parse(run.anchored_at);
}
