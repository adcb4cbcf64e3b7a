// Which part of a range is counted from what: days where whole days do, hours by their quarters next to them, and the
// ledger itself for what is finer. Pure.
import { DAY_MS, QUARTER_MS } from '../store/buckets.ts';
import { intervalStarts } from './intervals.ts';
import type { UsageRange } from './range.ts';
import { isUtc } from './zone.ts';

/** A part of the range; `from` is inside, `to` is not. */
export interface Segment {
  readonly source: 'ledger' | 'hours' | 'days';
  readonly from: number;
  readonly to: number;
  /** Of days: a moment of the interval in which they are counted; without it their own beginning. */
  readonly countedAt?: number;
  /** Of quarters that are in the sum of a day: where they are taken away from it, since they count in another interval. */
  readonly takenFrom?: number;
}

/** Parts that cover the range once. */
export function segmentsOf(range: UsageRange): Segment[] {
  const { from, to, interval } = range;
  const quarters = interval === 'minute' ? null : within(from, to, QUARTER_MS);
  if (!quarters) return [{ source: 'ledger', from, to }];
  const segments: Segment[] = [
    { source: 'ledger', from, to: quarters.from },
    ...(interval === 'day' && !isUtc(range.zone)
      ? daysOfAnotherClock(range, quarters)
      : partsWithDays(range, quarters).flatMap((part) => daysInside(part))),
    { source: 'ledger', from: quarters.to, to },
  ];
  return segments.filter((segment) => segment.from < segment.to);
}

interface Part {
  readonly from: number;
  readonly to: number;
  /** Whether the days that are kept, those of UTC, may be counted as they are. */
  readonly hasDays: boolean;
}

/**
 * Days of another wall clock: each day of UTC counts where most of it lies, and the quarters of the rest are moved from
 * there to where they belong. So at most half of a year's hours are read, in Europe a twelfth.
 */
function daysOfAnotherClock({ zone }: UsageRange, { from, to }: Omit<Part, 'hasDays'>): Segment[] {
  const whole = within(from, to, DAY_MS);
  if (!whole) return [{ source: 'hours', from, to }];
  const starts = intervalStarts('day', whole.from, whole.to, zone);
  const segments: Segment[] = [{ source: 'hours', from, to: whole.from }];
  for (let day = whole.from, next = 0; day < whole.to; day += DAY_MS) {
    const end = day + DAY_MS;
    while ((starts[next] ?? Infinity) <= day) next += 1;
    const inside: number[] = [];
    for (let i = next; (starts[i] ?? Infinity) < end; i += 1) inside.push(starts[i] ?? end);
    segments.push(...dayAcross(day, end, inside));
  }
  return [...segments, { source: 'hours', from: whole.to, to }];
}

/** @param boundaries where days of the other clock begin within it */
function dayAcross(from: number, to: number, boundaries: readonly number[]): Segment[] {
  const [boundary = to, ...more] = boundaries;
  if (more.length > 0) return [{ source: 'hours', from, to }];
  const isEarlier = boundary - from >= to - boundary;
  const countedAt = isEarlier ? from : boundary;
  const rest = isEarlier ? { from: boundary, to } : { from, to: boundary };
  return [
    { source: 'days', from, to, countedAt },
    { source: 'hours', ...rest, takenFrom: countedAt },
  ];
}

/** Hours of another wall clock are put together from quarters; its months have days of UTC inside. */
function partsWithDays({ interval, zone }: UsageRange, { from, to }: Omit<Part, 'hasDays'>): Part[] {
  if (interval === null || (interval !== 'hour' && isUtc(zone))) return [{ from, to, hasDays: true }];
  if (interval === 'hour') return [{ from, to, hasDays: false }];
  const starts = intervalStarts('month', from, to, zone).slice(1);
  return [from, ...starts].map((start, i) => ({ from: start, to: starts[i] ?? to, hasDays: true }));
}

function daysInside({ from, to, hasDays }: Part): Segment[] {
  const days = hasDays ? within(from, to, DAY_MS) : null;
  if (!days) return [{ source: 'hours', from, to }];
  return [
    { source: 'hours', from, to: days.from },
    { source: 'days', from: days.from, to: days.to },
    { source: 'hours', from: days.to, to },
  ];
}

/** The largest range of whole units inside; null when there is none. */
function within(from: number, to: number, unit: number): { from: number; to: number } | null {
  const first = Math.ceil(from / unit) * unit;
  const last = Math.floor(to / unit) * unit;
  return first < last ? { from: first, to: last } : null;
}
