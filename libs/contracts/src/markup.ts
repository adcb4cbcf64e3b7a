// The mark-up of an org on the price list. Its operator sets it; the org sees only its own prices.
import { z } from 'zod';

const MARKUP_PERCENT_MAX = 1_000;
const PERCENT = /^\d{1,4}(\.\d{1,2})?$/;
const WHAT = `must be 0 to ${MARKUP_PERCENT_MAX} percent, with at most 2 decimals`;
const isPercent = (value: number | string) =>
  PERCENT.test(String(value)) && Number(value) <= MARKUP_PERCENT_MAX;

/** As an operator sets it. */
export const markupPercent = z
  .union([
    z.number().min(0).max(MARKUP_PERCENT_MAX).refine(isPercent, WHAT),
    z.string().regex(PERCENT, WHAT).refine(isPercent, WHAT),
  ])
  .describe('Percent on top of the price list, for later calls, videos and computers; at most 2 decimals');

/** In records and on the bus: a plain decimal above 0, absent without a mark-up. */
export const markup = z.object({ markup_percent: z.string().optional() });
export type Markup = z.infer<typeof markup>;

/** The member of records and requests for a percentage, without trailing zeros. */
export function toMarkup(percent: number | string | undefined): Markup {
  return percent === undefined || Number(percent) === 0 ? {} : { markup_percent: String(Number(percent)) };
}
