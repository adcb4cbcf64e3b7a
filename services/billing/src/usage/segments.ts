// Which part of a range is counted from what: days where whole days do, hours by their quarters next to them, and the
// ledger itself for what is finer. Pure.
import { DAY_MS, QUARTER_MS } from '../store/buckets.ts';
import type { UsageRange } from './range.ts';

/** A part of the range; `from` is inside, `to` is not. */
export interface Segment {
  readonly source: 'ledger' | 'hours' | 'days';
  readonly from: number;
  readonly to: number;
}

/** Parts that cover the range once, in order. */
export function segmentsOf({ from, to, interval, offsetMs }: UsageRange): Segment[] {
  if (interval === 'minute') return [{ source: 'ledger', from, to }];
  const inQuarters = within(from, to, QUARTER_MS);
  if (!inQuarters) return [{ source: 'ledger', from, to }];
  // The days that are kept are UTC's; those of another wall clock are put together from quarters.
  const daysFit = interval === null || (interval !== 'hour' && offsetMs % DAY_MS === 0);
  const inDays = daysFit ? within(inQuarters.from, inQuarters.to, DAY_MS) : null;
  const segments: Segment[] = [
    { source: 'ledger', from, to: inQuarters.from },
    ...(inDays
      ? ([
          { source: 'hours', from: inQuarters.from, to: inDays.from },
          { source: 'days', from: inDays.from, to: inDays.to },
          { source: 'hours', from: inDays.to, to: inQuarters.to },
        ] as const)
      : ([{ source: 'hours', from: inQuarters.from, to: inQuarters.to }] as const)),
    { source: 'ledger', from: inQuarters.to, to },
  ];
  return segments.filter((segment) => segment.from < segment.to);
}

/** The largest range of whole units inside; null when there is none. */
function within(from: number, to: number, unit: number): { from: number; to: number } | null {
  const first = Math.ceil(from / unit) * unit;
  const last = Math.floor(to / unit) * unit;
  return first < last ? { from: first, to: last } : null;
}
