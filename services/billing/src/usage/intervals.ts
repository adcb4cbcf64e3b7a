// The grid of Usage: where its intervals begin. They follow a wall clock: a caller in Kathmandu has her own days, and in
// Berlin one day of the year has 23 hours.
import type { UsageQuery } from '@switchyard/contracts';
import { DAY_MS, HOUR_MS } from '../store/buckets.ts';
import { firstMomentOf, wallAt, type Zone } from './zone.ts';

export type Interval = NonNullable<UsageQuery['interval']>;

export const MINUTE_MS = 60_000;

/**
 * The beginnings, in order, of all intervals that have a part between `from` and `to`: the first one begins at `from` or
 * before. A day or month begins at the first moment of its date; an hour or minute ends where the clock is changed.
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

/** Where the interval begins that `at` lies in. */
export function intervalStart(interval: Interval, at: number, zone: Zone): number {
  return intervalStarts(interval, at, at + 1, zone)[0] ?? at;
}

function evenStarts(length: number, from: number, to: number, { stretches }: Zone): number[] {
  const starts: number[] = [];
  for (const { begins, ends, offsetMs } of stretches) {
    if (ends <= from || begins >= to) continue;
    const first = Math.max(from, begins) + offsetMs;
    const floor = Math.floor(first / length) * length - offsetMs;
    starts.push(Math.max(begins, floor));
    for (let at = floor + length; at < Math.min(ends, to); at += length) starts.push(at);
  }
  return starts;
}

/** Dates of the wall clock: where the one begins that a time lies in, and where the next. */
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
    if (at !== starts.at(-1)) starts.push(at); // a date that a zone has skipped begins with the next one
    wall = next(wall);
  }
  return starts;
}
