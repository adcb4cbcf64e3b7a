// Schedules the retries of a failed delivery by the age of its event, so that a restart or a lost attempt does not
// change the schedule.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export interface RetrySchedule {
  /** Ages of an event, in milliseconds and rising, at which it is retried. After the last one it is given up. */
  readonly agesMs: readonly number[];
  /** An endpoint that accepted nothing for this long is disabled when an event is given up. */
  readonly failingMsMax: number;
}

export const OVER_A_DAY: RetrySchedule = {
  agesMs: [
    5 * SECOND_MS,
    30 * SECOND_MS,
    2 * MINUTE_MS,
    10 * MINUTE_MS,
    30 * MINUTE_MS,
    1 * HOUR_MS,
    2 * HOUR_MS,
    4 * HOUR_MS,
    8 * HOUR_MS,
    12 * HOUR_MS,
    16 * HOUR_MS,
    20 * HOUR_MS,
    24 * HOUR_MS,
  ],
  failingMsMax: 20 * HOUR_MS,
};

/** Waits are up to a tenth longer, so that events that failed together are not retried together. */
const JITTER_SHARE = 0.1;

/** Milliseconds until an event of this age is retried; null when it is given up. */
export function nextTryMs({ agesMs }: RetrySchedule, ageMs: number, random: () => number): number | null {
  const next = agesMs.find((age) => age > ageMs);
  return next === undefined ? null : Math.ceil((next - ageMs) * (1 + random() * JITTER_SHARE));
}
