// Work for a caller that may take long: it ends with the caller's key.
import type { KeyRecord } from '@switchyard/contracts';
import type { OpenRelays } from './open-relays.ts';

/** Runs `work` under a signal that is aborted when the client goes away or its key is revoked or expires. */
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
