// The check that does not use billing's table of events: the amount that each message states must be in the ledger,
// under the id and org of the message, and be the sum of its lines. It finds an event that the table ignores or reads
// wrongly, and a cost that does not follow from its rates.
import type { JsMsg } from '@nats-io/jetstream';
import { chargeLine } from '@switchyard/contracts';
import { type ChargeLine, charge } from '@switchyard/money';
import { z } from 'zod';
import { statedAmount } from '../store/batch-plan.ts';
import type { LedgerRow } from '../store/documents.ts';
import { jsonOf } from './stream-messages.ts';

/** An event with another amount is rejected by billing. What a transform throws, `safeParse` throws. */
const nanos = z
  .string()
  .regex(/^-?\d+$/)
  .transform(BigInt)
  .optional();
const pricedEvent = z.object({
  id: z.string(),
  data: z.object({
    ...{ org: z.string(), cost_nano: nanos, amount_nano: nanos },
    lines: z.array(chargeLine).default([]),
  }),
});

export interface StatedAmount {
  readonly message: JsMsg;
  /** Id of the event. */
  readonly id: string;
  readonly org: string;
  /** Nano-dollars, without a sign. */
  readonly amount: bigint;
  /** Quantities and rates, mark-up included; a refund or a credit has none. */
  readonly lines: readonly ChargeLine[];
}

/** The amount that a message states; null when it states none, or is no event. */
export function amountOf(message: JsMsg): StatedAmount | null {
  const event = pricedEvent.safeParse(jsonOf(message));
  if (!event.success) return null;
  const { id, data } = event.data;
  const amount = data.cost_nano ?? data.amount_nano ?? 0n;
  return amount === 0n ? null : { message, id, org: data.org, amount, lines: data.lines };
}

/** Whether the row has the stated amount, for the stated org. */
export function isBooked({ org, amount }: StatedAmount, row: LedgerRow): boolean {
  const booked = statedAmount(row);
  return row.org === org && (booked < 0n ? -booked : booked) === amount;
}

/** Whether the amount is the sum of the lines, by the rounding rule of charges; true for an event without lines. */
export function isSumOfLines({ amount, lines }: StatedAmount): boolean {
  if (lines.length === 0) return true;
  try {
    return charge(lines) === amount;
  } catch (error) {
    if (error instanceof RangeError) return false; // a rate or a quantity that is no decimal
    throw error;
  }
}
