// Stores messages that could not be booked, for people to inspect; no code reads them.
import type { Logger } from '@switchyard/service';
import { answered } from './answered.ts';
import type { Rejected } from './documents.ts';
import { isDuplicateKeyError } from './mongo-errors.ts';
import type { Store } from './store.ts';

/** Stores rejected messages and raises an alarm for each; one that exists from an earlier delivery stays unchanged. */
export async function reject(store: Store, rejected: readonly Rejected[], logger: Logger): Promise<void> {
  for (const document of rejected) {
    await answered(store.rejected.insertOne(document)).catch((error: unknown) => {
      if (!isDuplicateKeyError(error)) throw error;
    });
    const { _id, subject, seq, reason } = document;
    logger.error(
      { alarm: 'event_rejected', rejected: _id, subject, seq, reason },
      'an event cannot be booked; it is stored in `rejected`',
    );
  }
}
