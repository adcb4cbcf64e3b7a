// The start times of Usage intervals. They follow a wall clock: days in Kathmandu start at their own midnight, and one
// day of the year has 23 hours in Berlin.
import type { UsageQuery } from '@switchyard/contracts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../store/buckets.ts';
import { firstMomentOf, wallAt, type Zone } from './zone.ts';

export type Interval = NonNullable<UsageQuery['interval']>;

/**
 * The start times, in order, of all intervals that overlap `from` to `to`; the first one is at `from` or before. A day
 * or month starts at the first moment of its date. An hour or minute ends at a change of the clock.
 */
export function intervalStarts(interval: Interval, from: number, to: number, zone: Zone): number[] {
  switch (interval) {
    case 'minute':
      return evenStarts(MINUTE_MS, from, to, zone);
    case 'hour':
      return evenStarts(HOUR_MS, from, to, zone);
    case 'day':
      return dateStarts(DAYS, from, to, zone);
    case 'month':
      return dateStarts(MONTHS, from, to, zone);
  }
}

/** The start of the interval that contains `at`. */
export function intervalStart(interval: Interval, at: number, zone: Zone): number {
  return intervalStarts(interval, at, at + 1, zone)[0] ?? at;
}

function evenStarts(length: number, from: number, to: number, { periods }: Zone): number[] {
  const starts: number[] = [];
  for (const { begins, ends, offsetMs } of periods) {
    if (ends <= from || begins >= to) continue;
    const first = Math.max(from, begins) + offsetMs;
    const floor = Math.floor(first / length) * length - offsetMs;
    starts.push(Math.max(begins, floor));
    for (let at = floor + length; at < Math.min(ends, to); at += length) starts.push(at);
  }
  return starts;
}

/** Dates of the wall clock: the start of the date that contains a time, and the start of the next. */
interface Dates {
  begin(wall: number): number;
  next(wall: number): number;
}

const DAYS: Dates = {
  begin: (wall) => Math.floor(wall / DAY_MS) * DAY_MS,
  next: (wall) => wall + DAY_MS,
};
const MONTHS: Dates = { begin: (wall) => monthOf(wall, 0), next: (wall) => monthOf(wall, 1) };

function monthOf(wall: number, more: number): number {
  const date = new Date(wall);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more);
}

function dateStarts({ begin, next }: Dates, from: number, to: number, zone: Zone): number[] {
  const starts: number[] = [];
  let wall = begin(wallAt(from, zone));
  for (let at = firstMomentOf(wall, zone); at < to; at = firstMomentOf(wall, zone)) {
    if (at !== starts.at(-1)) starts.push(at); // a date that the zone skipped starts together with the next one
    wall = next(wall);
  }
  return starts;
}
