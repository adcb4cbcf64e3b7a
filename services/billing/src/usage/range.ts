// The range of a Usage query, with defaults and validation: time, intervals, grouping and filter.
import {
  invalidParam,
  type ServiceError,
  type TagGroup,
  USAGE_GROUPS,
  type UsageQuery,
} from '@switchyard/contracts';
import { DAY_MS, HOUR_MS, MINUTE_MS, QUARTER_MS } from '../store/buckets.ts';
import { type Interval, intervalStart } from './intervals.ts';
import { fixedZone, namedZone, type Zone } from './zone.ts';

type Group = (typeof USAGE_GROUPS)[number];

export interface UsageRange {
  /** Milliseconds since the epoch; `from` is inside, `to` is not. */
  readonly from: number;
  readonly to: number;
  readonly interval: Interval | null;
  readonly groupBy: Group | TagGroup | null;
  /** The filter: only this key, model …; it combines only with its own grouping, or with a tag. */
  readonly only: { readonly group: Group; readonly value: string } | null;
  /** The wall clock of the intervals. */
  readonly zone: Zone;
  /** When it was asked for. */
  readonly askedAt: number;
}

/** Default length of a range without `from`. */
const SPAN_MS_DEFAULT = {
  none: 30 * DAY_MS,
  minute: HOUR_MS,
  hour: DAY_MS,
  day: 30 * DAY_MS,
  month: 365 * DAY_MS,
} as const;

/** Maximum length of a range. Minutes are counted from the ledger itself. */
export const SPAN_MS_MAX = {
  none: 3_660 * DAY_MS,
  minute: 48 * HOUR_MS,
  hour: 92 * DAY_MS,
  day: 1_100 * DAY_MS,
  month: 3_660 * DAY_MS,
} as const;

/** The first interval may begin this much before `from`. */
const INTERVAL_MS_MAX = 32 * DAY_MS;

/** Without `to`, the range includes events of a clock that is ahead by the allowed difference. */
const SKEW_MS = 5_000;

/**
 * @param now milliseconds since the epoch
 * @throws ServiceError `invalid_request` with `param` `from`, `interval`, `tz`, or the filter
 */
export function usageRange(query: UsageQuery, now: number): UsageRange {
  const interval = query.interval ?? null;
  const to = query.to === undefined ? endOfQuarter(now + SKEW_MS) : Date.parse(query.to);
  const span = interval ?? 'none';
  const earliest = query.from === undefined ? to - SPAN_MS_DEFAULT[span] : Date.parse(query.from);
  if (to - earliest > SPAN_MS_MAX[span]) throw tooLong(span, to - earliest);
  const zone =
    query.tz === undefined
      ? fixedZone(offsetOf(query.from ?? query.to))
      : namedZone(query.tz, earliest - INTERVAL_MS_MAX, to);
  // Only whole intervals: a truncated first interval would look like a quiet one.
  const from =
    query.from === undefined && interval !== null ? intervalStart(interval, earliest, zone) : earliest;
  if (from >= to) throw invalidParam('from', `must be before to (${iso(to)})`);
  return { from, to, interval, groupBy: query.group_by ?? null, only: onlyOf(query), zone, askedAt: now };
}

/** Sums are kept for one dimension at a time: one filter is allowed, and no grouping but its own. */
function onlyOf(query: UsageQuery): UsageRange['only'] {
  const [first, second] = USAGE_GROUPS.flatMap((group) => {
    const value = query[group];
    return value === undefined ? [] : [{ group, value }];
  });
  if (!first) return null;
  const { group_by: groupBy } = query;
  const combines = groupBy === first.group || isTagGroup(groupBy);
  const other = second?.group ?? (combines ? undefined : groupBy);
  if (other === undefined) return first;
  throw invalidParam(
    first.group,
    `usage takes one filter or grouping at a time. Remove ${other}, or use /v1/logs.`,
  );
}

/** Tags have no sums of their own: their figures are added up from the ledger. */
export function isTagGroup(group: UsageQuery['group_by'] | null): group is TagGroup {
  return group?.startsWith('tag:') ?? false;
}

function endOfQuarter(at: number): number {
  return (Math.floor(at / QUARTER_MS) + 1) * QUARTER_MS;
}

/**
 * The UTC offset of a datetime. Zones differ from UTC by multiples of a quarter hour, the resolution of stored hours.
 */
function offsetOf(datetime: string | undefined): number {
  const match = /([+-])(\d\d):?(\d\d)$/.exec(datetime ?? '');
  if (!match) return 0;
  const [, sign, hours, minutes] = match;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS * (sign === '-' ? -1 : 1);
  if (offsetMs % QUARTER_MS !== 0)
    throw invalidParam('from', 'its offset from UTC must be in quarters of an hour');
  return offsetMs;
}

function tooLong(span: keyof typeof SPAN_MS_MAX, asked: number): ServiceError {
  const inHours = (ms: number) => `${Math.ceil(ms / HOUR_MS).toLocaleString('en-US')} hours`;
  const limit = inHours(SPAN_MS_MAX[span]);
  const covers = `a query covers at most ${limit}, not ${inHours(asked)}. Narrow from and to`;
  return span === 'none'
    ? invalidParam('from', `${covers}.`)
    : invalidParam('interval', `by the ${span} ${covers}, or choose a longer interval.`);
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
