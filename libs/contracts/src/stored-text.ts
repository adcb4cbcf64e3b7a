// Text of callers that the ledger keeps and that audits compare with its event.
import type { z } from 'zod';

/** Refuses half of a surrogate pair: the database would store another character, and the audit would report a drift. */
export function storedText(text: z.ZodString) {
  return text.refine((value) => value.isWellFormed(), 'has half of a surrogate pair. Send whole characters');
}
