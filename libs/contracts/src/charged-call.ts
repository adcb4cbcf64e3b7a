// What a service needs to know to charge a request: the edge sends it in the head of the call on the bus.
import { z } from 'zod';
import { callerContext } from './caller-context.ts';
import { markup } from './markup.ts';

export const chargedCall = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  /** A limit applies to the spending of its org or key: the cost is held before the work. */
  limited: z.literal(true).optional(),
  ...markup.shape,
  /** Milliseconds since the epoch when the edge took the call. */
  received_at: z.int(),
  ...callerContext.shape,
});
export type ChargedCall = z.infer<typeof chargedCall>;
