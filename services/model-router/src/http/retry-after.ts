// Reads when an upstream may be called again: `retry-after` in seconds or as an HTTP date, or OpenAI's `retry-after-ms`.

/** Longer waits are cut to this: no quota of a maker is for longer than a day, and clients believe the header. */
export const RETRY_AFTER_S_MAX = 86_400;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Seconds from now; null when the headers are missing, unreadable, or in the past. */
export function readRetryAfter(headers: Headers, now: () => number): number | null {
  const ms = numberIn(headers['retry-after-ms']);
  if (ms !== null) return positive(ms / 1000);
  const said = headers['retry-after'];
  const seconds = numberIn(said);
  if (seconds !== null) return positive(seconds);
  const at = typeof said === 'string' ? Date.parse(said) : Number.NaN;
  return Number.isNaN(at) ? null : positive((at - now()) / 1000);
}

function numberIn(value: string | string[] | undefined): number | null {
  return typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : null;
}

function positive(seconds: number): number | null {
  return seconds > 0 ? Math.min(seconds, RETRY_AFTER_S_MAX) : null;
}
