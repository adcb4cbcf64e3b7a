// Calls of the last minute, counted from events. A tab that was hidden receives the events of hours at once.
import type { StreamedEvent } from '@switchyard/contracts';

const MINUTE_MS = 60_000;

export interface RecentCall {
  /** When it ended. */
  readonly at: number;
  readonly failed: boolean;
}

/** The call that an event reports; null for other events. */
export function callOf({ type, timestamp, data }: StreamedEvent, now: number): RecentCall | null {
  if (type !== 'call.completed' && type !== 'call.refused') return null;
  // The clock of this browser may be behind.
  const at = Math.min(Date.parse(timestamp), now);
  return { at, failed: type === 'call.refused' || data.status === 'error' };
}

export function ofLastMinute(calls: readonly RecentCall[], now: number): RecentCall[] {
  return calls.filter(({ at }) => at > now - MINUTE_MS);
}
