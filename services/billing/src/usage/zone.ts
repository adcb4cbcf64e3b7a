// A wall clock: its UTC offset, and when the offset changes (daylight saving). Either a fixed offset, or a zone of the
// IANA list as this Node knows it.
import { invalidParam } from '@switchyard/contracts';
import { DAY_MS, MINUTE_MS, QUARTER_MS } from '../store/buckets.ts';

/** No zone has changed twice within six days since 1970, and billing asks Intl for as few offsets as that allows. */
const STEP_MS = 5 * DAY_MS;

/** A period with a constant UTC offset. */
interface OffsetPeriod {
  /** Milliseconds since the epoch; -Infinity for the first period. */
  readonly begins: number;
  /** The start of the next period; +Infinity for the last. */
  readonly ends: number;
  readonly offsetMs: number;
}

export interface Zone {
  /** IANA name; null for a fixed offset. */
  readonly name: string | null;
  /** In order, without a gap. */
  readonly periods: readonly OffsetPeriod[];
}

export function fixedZone(offsetMs: number): Zone {
  return { name: null, periods: [{ begins: -Infinity, ends: Infinity, offsetMs }] };
}

/** Whether all of its days are days of UTC. */
export function isUtc({ periods }: Zone): boolean {
  return periods.every(({ offsetMs }) => offsetMs === 0);
}

/**
 * The zone between `from` and `to`; the offsets at both ends are extended beyond them.
 * @throws ServiceError `invalid_request` naming `tz` when the offset is not a multiple of a quarter hour: hours are
 * stored in quarters
 */
export function namedZone(name: string, from: number, to: number): Zone {
  const offsetAt = offsetsOf(name);
  const periods: OffsetPeriod[] = [];
  let begins = -Infinity;
  let offsetMs = offsetAt(from);
  for (let at = from; at < to; at += STEP_MS) {
    const next = Math.min(at + STEP_MS, to);
    const after = offsetAt(next);
    if (after === offsetMs) continue;
    const changes = changeBetween(at, next, offsetAt);
    periods.push({ begins, ends: changes, offsetMs });
    begins = changes;
    offsetMs = after;
  }
  periods.push({ begins, ends: Infinity, offsetMs });
  if (periods.some((one) => one.offsetMs % QUARTER_MS !== 0))
    throw invalidParam('tz', 'was not in quarters of an hour from UTC at that time');
  return { name, periods };
}

/** The first moment at which the clock shows `wall` or later; `wall` is written as if it were UTC. */
export function firstMomentOf(wall: number, { periods }: Zone): number {
  for (const { begins, ends, offsetMs } of periods) {
    const moment = Math.max(begins, wall - offsetMs);
    if (moment < ends) return moment;
  }
  throw new Error('the last period of a zone does not end');
}

/** The wall time at a moment, written as if it were UTC. */
export function wallAt(at: number, { periods }: Zone): number {
  const period = periods.find(({ begins, ends }) => at >= begins && at < ends);
  return at + (period?.offsetMs ?? 0);
}

/** Finds a change by bisection: the first minute after it. Clocks change at whole minutes. */
function changeBetween(first: number, last: number, offsetAt: (at: number) => number): number {
  const before = offsetAt(first);
  let [low, high] = [Math.floor(first / MINUTE_MS), Math.ceil(last / MINUTE_MS)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * MINUTE_MS) === before) low = middle;
    else high = middle;
  }
  return high * MINUTE_MS;
}

function offsetsOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (at) => {
    const written = format.format(at); // twice as fast as its parts
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(written);
    if (!match) throw new Error(`an offset that cannot be read: ${written}`);
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
    const offset = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS + Number(seconds) * 1_000;
    return sign === '-' ? -offset : offset;
  };
}
