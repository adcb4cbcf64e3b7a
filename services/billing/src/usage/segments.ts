// Splits a range by source: whole days from day sums, hours beside them from their quarters, and the rest from the
// ledger. Pure.
import { DAY_MS, HOUR_MS, QUARTER_MS } from '../store/buckets.ts';
import { intervalStarts } from './intervals.ts';
import type { UsageRange } from './range.ts';
import { isUtc } from './zone.ts';

/** Almost all charges are booked this soon. */
const LATE_MS = HOUR_MS;

/** A part of the range; `from` is inclusive, `to` is exclusive. */
export interface Segment {
  readonly source: 'ledger' | 'hours' | 'days';
  readonly from: number;
  readonly to: number;
  /** For days: a time within the interval that counts them; default: their own start. */
  readonly countedAt?: number;
  /** For quarters that a day's sum includes: where to subtract them, because they count in another interval. */
  readonly takenFrom?: number;
}

/** Segments that cover the range exactly once. */
export function segmentsOf(range: UsageRange): Segment[] {
  const { from, to, interval } = range;
  const quarters = interval === 'minute' ? null : within(from, to, QUARTER_MS);
  if (!quarters) return [{ source: 'ledger', from, to }];
  const segments: Segment[] = [
    { source: 'ledger', from, to: quarters.from },
    ...summed(range, quarters),
    { source: 'ledger', from: quarters.to, to },
  ];
  return segments.filter((segment) => segment.from < segment.to);
}

type Span = Pick<Segment, 'from' | 'to'>;

/** Whole quarters. The stored days are days of UTC. The months of every wall clock contain whole days of UTC. */
function summed(range: UsageRange, span: Span): Segment[] {
  const { interval, zone } = range;
  if (interval === 'hour') return [{ source: 'hours', ...span }];
  if (interval === null || isUtc(zone)) return daysInside(span);
  if (interval === 'day') return daysOfAnotherClock(range, span);
  const starts = intervalStarts('month', span.from, span.to, zone).slice(1);
  return [span.from, ...starts].flatMap((from, i) => daysInside({ from, to: starts[i] ?? span.to }));
}

/**
 * Days of another wall clock. Each day of UTC counts where most of it lies, and the quarters of the rest move to the
 * interval they belong to. So at most half of a year's hours are read; in Europe, a twelfth. A day that may still get
 * charges is read by its hours alone: sums of days and of hours change one after the other.
 */
function daysOfAnotherClock({ zone, askedAt }: UsageRange, { from, to }: Span): Segment[] {
  const whole = within(from, to, DAY_MS);
  if (!whole) return [{ source: 'hours', from, to }];
  const starts = intervalStarts('day', whole.from, whole.to, zone);
  const segments: Segment[] = [{ source: 'hours', from, to: whole.from }];
  for (let day = whole.from, next = 0; day < whole.to; day += DAY_MS) {
    const end = day + DAY_MS;
    if (end > askedAt - LATE_MS) {
      segments.push({ source: 'hours', from: day, to: end });
      continue;
    }
    while ((starts[next] ?? Infinity) <= day) next += 1;
    const inside: number[] = [];
    for (let i = next; (starts[i] ?? Infinity) < end; i += 1) inside.push(starts[i] ?? end);
    segments.push(...dayAcross(day, end, inside));
  }
  return [...segments, { source: 'hours', from: whole.to, to }];
}

/** @param boundaries starts of the other clock's days within this day */
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

function daysInside({ from, to }: Span): Segment[] {
  const days = within(from, to, DAY_MS);
  if (!days) return [{ source: 'hours', from, to }];
  return [
    { source: 'hours', from, to: days.from },
    { source: 'days', from: days.from, to: days.to },
    { source: 'hours', from: days.to, to },
  ];
}

/** The largest range of whole units inside a range; null when there is none. */
function within(from: number, to: number, unit: number): { from: number; to: number } | null {
  const first = Math.ceil(from / unit) * unit;
  const last = Math.floor(to / unit) * unit;
  return first < last ? { from: first, to: last } : null;
}
