// Keeping what could not be booked, for people to look at; nothing reads it back.

import { answered } from './answered.ts';
import type { Rejected } from './documents.ts';
import { metDuplicateKey } from './mongo-errors.ts';
import type { Store } from './store.ts';

/** Stores them; one that is there already, from an earlier delivery, stays as it is. */
export async function storeRejected({ rejected }: Store, documents: readonly Rejected[]): Promise<void> {
  for (const document of documents)
    try {
      await answered(rejected.insertOne(document));
    } catch (error) {
      if (!metDuplicateKey(error)) throw error;
    }
}
