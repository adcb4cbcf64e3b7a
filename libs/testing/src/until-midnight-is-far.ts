// Limits reset at midnight UTC, and a month's statement ends there: tests that count spending must not run across it.
import { setTimeout as delay } from 'node:timers/promises';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Longer than any test that counts spending, even on a busy machine. */
const FAR_MS = 3 * MINUTE_MS;
/** Tested programs use this machine's clock; timers may be a little early. */
const AFTERWARDS_MS = 1_000;

/** Resolves at once, except in the last minutes of a day: then after midnight. */
export async function untilMidnightIsFar(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < FAR_MS) await delay(leftMs + AFTERWARDS_MS);
}
