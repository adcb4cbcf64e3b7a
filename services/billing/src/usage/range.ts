// The question of Usage, made complete and checked: from when to when, in which intervals, grouped by what.
import { ServiceError, type UsageQuery } from '@switchyard/contracts';
import { DAY_MS, HOUR_MS, QUARTER_MS } from '../store/buckets.ts';
import { type Interval, intervalStart, MINUTE_MS } from './intervals.ts';

export interface UsageRange {
  /** Milliseconds since the epoch; `from` is inside, `to` is not. */
  readonly from: number;
  readonly to: number;
  readonly interval: Interval | null;
  readonly groupBy: NonNullable<UsageQuery['group_by']> | null;
  /** What the intervals' wall clock is ahead of UTC. */
  readonly offsetMs: number;
}

/** How far back a question goes that does not say. */
const SPAN_MS_DEFAULT = {
  none: 30 * DAY_MS,
  minute: HOUR_MS,
  hour: DAY_MS,
  day: 30 * DAY_MS,
  month: 365 * DAY_MS,
} as const;

/** How much time one question may ask about. Minutes are counted from the ledger itself. */
export const SPAN_MS_MAX = {
  none: 3_660 * DAY_MS,
  minute: 48 * HOUR_MS,
  hour: 92 * DAY_MS,
  day: 1_100 * DAY_MS,
  month: 3_660 * DAY_MS,
} as const;

/** Without `to`, events of a clock that is ahead of ours by as much as clocks may be are in the answer too. */
const SKEW_MS = 5_000;

/**
 * @param now milliseconds since the epoch
 * @throws ServiceError `invalid_request` with `param` `from`, `to` or `interval`
 */
export function usageRange(query: UsageQuery, now: number): UsageRange {
  const interval = query.interval ?? null;
  const offsetMs = offsetOf(query.from ?? query.to);
  const to = query.to === undefined ? endOfQuarter(now + SKEW_MS) : Date.parse(query.to);
  const span = interval ?? 'none';
  const from = query.from === undefined ? defaultFrom(to, interval, offsetMs) : Date.parse(query.from);
  if (from >= to)
    throw new ServiceError('invalid_request', `from: must lie before to (${iso(to)})`, { param: 'from' });
  if (to - from > SPAN_MS_MAX[span])
    throw new ServiceError('invalid_request', tooLong(span, to - from), {
      param: interval === null ? 'from' : 'interval',
    });
  return { from, to, interval, groupBy: query.group_by ?? null, offsetMs };
}

/** Whole intervals: a first one cut short would look like a quiet one. */
function defaultFrom(to: number, interval: Interval | null, offsetMs: number): number {
  const from = to - SPAN_MS_DEFAULT[interval ?? 'none'];
  return interval === null ? from : intervalStart(interval, from, offsetMs);
}

function endOfQuarter(at: number): number {
  return (Math.floor(at / QUARTER_MS) + 1) * QUARTER_MS;
}

/** Zones are multiples of a quarter hour away from UTC; that is how finely hours are kept. */
function offsetOf(datetime: string | undefined): number {
  const match = /([+-])(\d\d):?(\d\d)$/.exec(datetime ?? '');
  if (!match) return 0;
  const [, sign, hours, minutes] = match;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS * (sign === '-' ? -1 : 1);
  if (offsetMs % QUARTER_MS !== 0)
    throw new ServiceError('invalid_request', 'from: its offset from UTC must be in quarters of an hour', {
      param: 'from',
    });
  return offsetMs;
}

function tooLong(span: keyof typeof SPAN_MS_MAX, asked: number): string {
  const inHours = (ms: number) => `${Math.ceil(ms / HOUR_MS).toLocaleString('en-US')} hours`;
  const limit = inHours(SPAN_MS_MAX[span]);
  return span === 'none'
    ? `from: one question covers at most ${limit}, not ${inHours(asked)}`
    : `interval: by the ${span} one question covers at most ${limit}, not ${inHours(asked)}; narrow from and to, or take a longer interval`;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
