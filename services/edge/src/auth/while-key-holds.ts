// Runs long work for a caller as long as the caller's key is valid.
import type { KeyRecord } from '@switchyard/contracts';
import type { OpenRelays } from './open-relays.ts';

/** Runs `work` under a signal that is aborted when the client disconnects or its key is revoked or expires. */
export async function whileKeyHolds<T>(
  open: OpenRelays,
  key: KeyRecord,
  gone: AbortSignal,
  work: (key: KeyRecord, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const revoked = new AbortController();
  const close = open.add(key, { revoke: (reason) => revoked.abort(reason) });
  try {
    return await work(key, AbortSignal.any([gone, revoked.signal]));
  } finally {
    close();
  }
}
