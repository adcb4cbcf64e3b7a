// How far a run had come when an agent finds it in a record after a restart: pure arithmetic on wall clocks, safe to
// repeat if the agent dies again before its result is written.
import { type ComputerRun, HOST_SILENT_MS_MAX } from '@switchyard/contracts';

/**
 * Billable milliseconds of a run that is still on.
 * @param lastHeardAt when the host was last heard on the bus, milliseconds since the epoch
 */
export function billableWhenResumed(run: ComputerRun, lastHeardAt: number, now: number): number {
  const anchoredAt = Date.parse(run.anchored_at);
  const billedUntil = Math.min(now, Math.max(lastHeardAt, anchoredAt) + HOST_SILENT_MS_MAX);
  return run.anchored_ms + Math.max(0, billedUntil - anchoredAt);
}

/** Billable milliseconds of a run that ended while no agent watched: until it was last known to be on. */
export function billableWhenLost(run: ComputerRun, lastHeardAt: number): number {
  return run.anchored_ms + Math.max(0, lastHeardAt - Date.parse(run.anchored_at));
}
