// How makers whose work is a job are asked for it: often enough, and for as long as an attempt may take at all. It is the
// attempt's own clock, and the caller who goes away, that end it sooner.
const INTERVAL_MS = 500;
/** The longest attempt that a catalog may name. */
const TIMEOUT_MS = 600_000;

export const jobTimes = {
  intervalMs: INTERVAL_MS,
  timeoutMs: TIMEOUT_MS,
  attemptsMax: TIMEOUT_MS / INTERVAL_MS,
} as const;
