// Receipts: which answers the edges have given that said what they cost. Nothing is booked by them; billing holds the
// ledger to them. On `receipts.v1.<edge>` of the JetStream stream RECEIPTS, as many as came in a second in one message.
import { z } from 'zod';
import { nanos } from './events.ts';

export const RECEIPTS_STREAM = 'RECEIPTS';
export const RECEIPTS_SUBJECTS = 'receipts.v1.>';

/** Answers in one message at the most: well under the megabyte that NATS takes. */
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
