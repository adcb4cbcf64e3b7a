// Runs long work for a caller as long as the caller's key is valid.
import type { CallerKey, OpenRelays } from './open-relays.ts';

/**
 * Runs `work` under a signal that is aborted when the client disconnects, its key is revoked or expires, or its org is
 * suspended.
 * @param gone aborted when the client disconnects; null for work that outlives its client
 */
export async function whileKeyHolds<T, K extends CallerKey>(
  open: OpenRelays,
  key: K,
  gone: AbortSignal | null,
  work: (key: K, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const revoked = new AbortController();
  const close = open.add(key, { revoke: (reason) => revoked.abort(reason) });
  try {
    return await work(key, gone ? AbortSignal.any([gone, revoked.signal]) : revoked.signal);
  } finally {
    close();
  }
}

/** As `whileKeyHolds`, for a signed address, which names an org but no key. */
export function whileOrgHolds<T>(
  open: OpenRelays,
  org: string,
  gone: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return whileKeyHolds(open, { id: org, org, expires_at: null, secrets: [] }, gone, (_org, signal) =>
    work(signal),
  );
}
