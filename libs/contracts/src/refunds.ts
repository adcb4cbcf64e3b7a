// Refunds by an operator: a new ledger row that names the charge that it refunds, in whole or in part.
import { z } from 'zod';
import { CREDIT_REASON_LENGTH_MAX, CREDIT_REFERENCE_LENGTH_MAX, dollarAmount } from './accounts.ts';
import { dollars } from './dollars.ts';
import { idOf } from './ids.ts';
import { storedText } from './stored-text.ts';

/** Maximum refunds of one charge: each is a row of the ledger. */
export const REFUNDS_PER_CHARGE_MAX = 20;
const ID_LENGTH_MAX = 300;

const id = z.string().min(1).max(ID_LENGTH_MAX).optional();

export const createRefundRequest = z
  .strictObject({
    request_id: id.describe('X-Request-Id of the call; this or `event`'),
    event: id.describe('Id of the event that charged; a computer’s minute is `<computer>:<run>:<minute>`'),
    amount: dollarAmount
      .optional()
      .describe('US dollars, at most 9 decimals; default: all that is not yet refunded'),
    reason: storedText(z.string().min(1).max(CREDIT_REASON_LENGTH_MAX)).describe('Why it is refunded'),
    reference: storedText(z.string().min(1).max(CREDIT_REFERENCE_LENGTH_MAX))
      .nullish()
      .describe('What it belongs to: a ticket, an invoice'),
  })
  .refine((body) => (body.request_id === undefined) !== (body.event === undefined), {
    path: ['request_id'],
    message: 'give either request_id or event',
  })
  .meta({ examples: [{ request_id: 'req_x', reason: 'answer was of no use', reference: 'ticket 17' }] });
export type CreateRefundRequest = z.infer<typeof createRefundRequest>;

export const refundObject = z.object({
  id: idOf('refund').describe('Id of the refund'),
  object: z.literal('refund').describe('Always refund'),
  event: z.string().describe('Its event, and its id in Logs'),
  charge: z.string().describe('The event whose charge is refunded'),
  amount: dollars.describe('US dollars refunded'),
  left: dollars.describe('What is left of the charge'),
  reason: z.string().describe('Why it was refunded'),
  reference: z.string().nullable().describe('What it belongs to'),
  key_id: z.string().describe('The key that refunded it'),
  created_at: z.iso.datetime().describe('When it was refunded'),
});
