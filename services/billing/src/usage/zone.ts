// A wall clock: what it is ahead of UTC, and when that changes (daylight saving). Of one offset, or of a zone of the
// IANA list as this Node knows it.
import { ServiceError } from '@switchyard/contracts';
import { DAY_MS, QUARTER_MS } from '../store/buckets.ts';

/** A stretch of time through which the clock is ahead of UTC by the same. */
export interface Stretch {
  /** Milliseconds since the epoch; the first one begins at -Infinity. */
  readonly begins: number;
  /** The beginning of the next one; +Infinity of the last. */
  readonly ends: number;
  readonly offsetMs: number;
}

export interface Zone {
  /** Its name in the IANA list; null for a mere offset. */
  readonly name: string | null;
  /** In order, without a gap. */
  readonly stretches: readonly Stretch[];
}

export function fixedZone(offsetMs: number): Zone {
  return { name: null, stretches: [{ begins: -Infinity, ends: Infinity, offsetMs }] };
}

/** Whether its days are those of UTC throughout. */
export function isUtc({ stretches }: Zone): boolean {
  return stretches.every(({ offsetMs }) => offsetMs === 0);
}

/**
 * The zone as it is from `from` to `to`; what it was before and will be after is taken to be the same.
 * @throws ServiceError `invalid_request` naming `tz` where it is not quarters of an hour away from UTC: hours are kept
 *   in quarters.
 */
export function namedZone(name: string, from: number, to: number): Zone {
  const offsetAt = offsetsOf(name);
  const stretches: Stretch[] = [];
  let begins = -Infinity;
  let offsetMs = offsetAt(from);
  // No zone has changed twice within a day.
  for (let at = from; at < to; at += DAY_MS) {
    const next = Math.min(at + DAY_MS, to);
    const after = offsetAt(next);
    if (after === offsetMs) continue;
    const changes = changeBetween(at, next, offsetAt);
    stretches.push({ begins, ends: changes, offsetMs });
    begins = changes;
    offsetMs = after;
  }
  stretches.push({ begins, ends: Infinity, offsetMs });
  if (stretches.some((one) => one.offsetMs % QUARTER_MS !== 0))
    throw new ServiceError('invalid_request', 'tz: was not in quarters of an hour from UTC at that time', {
      param: 'tz',
    });
  return { name, stretches };
}

/** The first moment at which the clock shows `wall` or later; `wall` as if it were UTC. */
export function firstMomentOf(wall: number, { stretches }: Zone): number {
  for (const { begins, ends, offsetMs } of stretches) {
    const moment = Math.max(begins, wall - offsetMs);
    if (moment < ends) return moment;
  }
  throw new Error('the last stretch of a zone does not end');
}

/** What the clock shows at a moment, as if it were UTC. */
export function wallAt(at: number, { stretches }: Zone): number {
  const stretch = stretches.find(({ begins, ends }) => at >= begins && at < ends);
  return at + (stretch?.offsetMs ?? 0);
}

/** The last moment before a change and the first after it lie next to each other: halving finds them. */
function changeBetween(first: number, last: number, offsetAt: (at: number) => number): number {
  const before = offsetAt(first);
  let [low, high] = [first, last];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

function offsetsOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (at) => {
    const written = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const match = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(written);
    if (!match) throw new Error(`an offset that cannot be read: ${written}`);
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
    const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1_000;
    return sign === '-' ? -offset : offset;
  };
}
