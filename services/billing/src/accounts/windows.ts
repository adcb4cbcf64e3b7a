// The windows of limits: days, weeks (from Monday) and months of UTC, and all of time for a balance.
import type { LimitInterval } from '@switchyard/contracts';
import { DAY_MS } from '../store/buckets.ts';
import type { Window } from './budget.ts';

const WEEK_DAYS = 7;
/** 1970-01-01 was a Thursday: three days after a Monday. */
const EPOCH_AFTER_MONDAY_DAYS = 3;

export const ALL_OF_TIME: Window = { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };

/** The window of that kind in which a time (milliseconds since the epoch) lies. */
export function windowOf(interval: LimitInterval, time: number): Window {
  switch (interval) {
    case 'day': {
      const start = Math.floor(time / DAY_MS) * DAY_MS;
      return { start, end: start + DAY_MS };
    }
    case 'week': {
      const day = Math.floor(time / DAY_MS) + EPOCH_AFTER_MONDAY_DAYS;
      const start = (Math.floor(day / WEEK_DAYS) * WEEK_DAYS - EPOCH_AFTER_MONDAY_DAYS) * DAY_MS;
      return { start, end: start + WEEK_DAYS * DAY_MS };
    }
    case 'month': {
      const date = new Date(time);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
    }
  }
}
