// Receipts: the answers in which the edges stated a cost. They book nothing; billing checks the ledger against them.
// On `receipts.v1.<edge>` of the JetStream stream RECEIPTS, one message for the receipts of a second.
import { z } from 'zod';
import { nanos } from './events.ts';

export const RECEIPTS_STREAM = 'RECEIPTS';
export const RECEIPTS_SUBJECTS = 'receipts.v1.>';

/** Maximum answers in one message: well under the megabyte that NATS accepts. */
export const RECEIPTS_PER_BATCH_MAX = 5_000;

export const receiptBatch = z.object({
  /** One life of an edge. */
  edge: z.string(),
  /** Counts that edge's batches, from 1. */
  number: z.int().positive(),
  /** By org: the id of the event that charges an answer, and the nano-dollars reported to its caller. */
  answers: z.record(z.string(), z.array(z.tuple([z.string(), nanos]))),
});
export type ReceiptBatch = z.infer<typeof receiptBatch>;

export function receiptsSubject(edge: string): string {
  return `receipts.v1.${edge}`;
}
