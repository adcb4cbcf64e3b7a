// The grid of Usage: where the interval begins that a moment lies in. Intervals follow the wall clock of an offset from
// UTC, that of the `from` of the question: a caller in Kolkata has her own days.
import type { UsageQuery } from '@switchyard/contracts';
import { DAY_MS, HOUR_MS } from '../store/buckets.ts';

export type Interval = NonNullable<UsageQuery['interval']>;

export const MINUTE_MS = 60_000;

const FIXED_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const;

/** Milliseconds since the epoch, all of them; `offsetMs` is what the wall clock is ahead of UTC. */
export function intervalStart(interval: Interval, at: number, offsetMs: number): number {
  const wall = at + offsetMs;
  if (interval !== 'month') return Math.floor(wall / FIXED_MS[interval]) * FIXED_MS[interval] - offsetMs;
  const date = new Date(wall);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) - offsetMs;
}
