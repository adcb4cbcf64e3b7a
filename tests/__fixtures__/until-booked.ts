/** Reads of the bill wait at most two seconds for billing; on a busy machine it may need longer. */
import { expect, vi } from 'vitest';

const BOOKED_MS_MAX = 60_000;

/**
 * Resolves when every event of the org that was stored before this call is booked, as `as_of` of its usage says. What
 * Usage, Logs, keys, account and statements answer from then on includes it. Calls that were refused have a stream of
 * their own: poll Logs for them.
 * @param key of the org, with the permission `usage:read`
 */
export async function untilBooked(url: string, key: string): Promise<void> {
  const askedAt = Date.now();
  const isBooked = async () => {
    const response = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
    const { as_of = '' } = (await response.json()) as { as_of?: string };
    expect(Date.parse(as_of)).toBeGreaterThanOrEqual(askedAt);
  };
  await vi.waitFor(isBooked, BOOKED_MS_MAX); // hooks may not call `expect.poll`
}
