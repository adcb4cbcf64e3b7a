// Calls that arrive at a fixed rate, whether or not earlier ones were answered, as from many independent callers.
import { Pool } from 'undici';
import type { Target } from './load.ts';

export interface Arrivals {
  /** Milliseconds of each served call, sorted. */
  readonly took: number[];
  /** Calls answered with 503. */
  readonly shed: number;
  /** Calls answered with any other error. */
  readonly refused: number;
  /** Calls whose connection broke. */
  readonly broken: number;
  /** Calls that were not sent, since CONNECTIONS_MAX were open. They would wait here, not in the service. */
  readonly unsent: number;
  /** Seconds in which calls were sent. */
  readonly sendingSeconds: number;
  /** Seconds from the first call to the last answer. */
  readonly seconds: number;
}

const CONNECTIONS_MAX = 1_000;
/** Calls begin in steps of this many milliseconds. */
const STEP_MS = 10;
const MESSAGES = [{ role: 'user', content: 'What does an AI gateway do?' }];

export async function callAtRate(
  { url, key, model }: Target,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Arrivals> {
  const { origin, pathname } = new URL(`${url}/chat/completions`);
  const pool = new Pool(origin, { connections: CONNECTIONS_MAX, pipelining: 1 });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const body = JSON.stringify({ model, messages: MESSAGES });
  const took: number[] = [];
  let shed = 0;
  let refused = 0;
  let broken = 0;
  let unsent = 0;
  let open = 0;
  const call = async () => {
    if (open >= CONNECTIONS_MAX) {
      unsent += 1;
      return;
    }
    open += 1;
    const calledAt = performance.now();
    try {
      const response = await pool.request({ path: pathname, method: 'POST', headers, body });
      await response.body.dump();
      if (response.statusCode === 200) took.push(performance.now() - calledAt);
      else if (response.statusCode === 503) shed += 1;
      else refused += 1;
    } catch {
      broken += 1;
    } finally {
      open -= 1;
    }
  };
  const calls: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let elapsed = 0; elapsed < seconds * 1_000; elapsed = performance.now() - startedAt) {
    const due = Math.floor((elapsed / 1_000) * perSecond);
    while (calls.length < due) calls.push(call());
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  while (calls.length < Math.round(seconds * perSecond)) calls.push(call()); // due in the last step
  const sendingSeconds = (performance.now() - startedAt) / 1_000;
  await Promise.all(calls);
  const allSeconds = (performance.now() - startedAt) / 1_000;
  await pool.close();
  return {
    took: took.sort((a, b) => a - b),
    shed,
    refused,
    broken,
    unsent,
    sendingSeconds,
    seconds: allSeconds,
  };
}

/** Calls that were sent. */
export function sentOf({ took, shed, refused, broken }: Arrivals): number {
  return took.length + shed + refused + broken;
}
