// What a service must know of a request in order to charge it: the edge says it in the head of the call on the bus.
import { z } from 'zod';
import { callerContext } from './caller-context.ts';
import { markup } from './markup.ts';

export const chargedCall = z.object({
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  /** Something limits what its org or key may spend: what it costs is held before the work is done. */
  limited: z.literal(true).optional(),
  ...markup.shape,
  /** Milliseconds since the epoch when the edge took the call. */
  received_at: z.int(),
  ...callerContext.shape,
});
export type ChargedCall = z.infer<typeof chargedCall>;
