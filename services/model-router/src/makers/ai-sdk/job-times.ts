// Polling times for makers that run a request as a job. The attempt's own timeout, or the caller leaving, ends the polling
// sooner.
const INTERVAL_MS = 500;
/** Maximum attempt timeout in a catalog. */
const TIMEOUT_MS = 600_000;

export const jobTimes = {
  intervalMs: INTERVAL_MS,
  timeoutMs: TIMEOUT_MS,
  attemptsMax: TIMEOUT_MS / INTERVAL_MS,
} as const;
