// Accounts: how an org pays, what it may spend, its credits; and the holds that enforce limits.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { nanos } from './events/define-event.ts';
import { idOf } from './ids.ts';
import { listOf } from './lists.ts';
import { markup } from './markup.ts';
import { PLACES } from './org-places.ts';
import { rateLimits } from './rate-limits.ts';
import { storedText } from './stored-text.ts';

/** Maximum dollars of one limit or one credit. */
const AMOUNT_DOLLARS_MAX = 1_000_000;
export const CREDIT_REASON_LENGTH_MAX = 200;
export const CREDIT_REFERENCE_LENGTH_MAX = 200;
export const HOLDS_RENEWED_AT_ONCE_MAX = 10_000;

export const LIMIT_INTERVALS = ['day', 'week', 'month'] as const;
const limitInterval = z.enum(LIMIT_INTERVALS);
export type LimitInterval = z.infer<typeof limitInterval>;

const NINE_DECIMALS = /^\d+(\.\d{1,9})?$/;
const amount = z
  .number()
  .positive()
  .max(AMOUNT_DOLLARS_MAX)
  .refine((value) => NINE_DECIMALS.test(plain(value)), 'must have at most 9 decimals');

/** Dollars above zero, with at most 9 decimals. */
export const dollarAmount = amount;

/** JavaScript writes 1e-7 and smaller with an exponent. */
function plain(value: number): string {
  return String(value).includes('e') ? value.toFixed(20).replace(/0+$/, '') : String(value);
}

/** What a key may spend in each day, week (from Monday) or month of UTC. */
export const spendLimit = z.strictObject({
  amount: amount.describe('US dollars, at most 9 decimals'),
  interval: limitInterval.describe('Each day, week (from Monday) or month, in UTC'),
});
export type SpendLimit = z.infer<typeof spendLimit>;

const BILLING_MODES = ['postpaid', 'prepaid'] as const;
export const billingMode = z.enum(BILLING_MODES);
export type BillingMode = z.infer<typeof billingMode>;

/** KV bucket `orgs`, key: the org's id. */
export const orgRecord = z.object({
  id: idOf('org'),
  name: z.string(),
  billing: billingMode,
  /** Dollars, of a postpaid org. */
  monthly_limit: amount.nullable(),
  limits: rateLimits.nullish(),
  ...markup.shape,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  /** When it was suspended; null: it is active. */
  suspended_at: z.iso.datetime().nullable(),
  /** When control removes the data of a deleted org; null: it was not deleted. */
  removed_at: z.iso.datetime().nullable(),
});
export type OrgRecord = z.infer<typeof orgRecord>;

export const updateAccountRequest = z
  .strictObject({
    billing: billingMode
      .optional()
      .describe(
        'prepaid: spend credits, and be refused with 402 when they are used up; postpaid: pay afterwards',
      ),
    monthly_limit: amount
      .nullable()
      .optional()
      .describe('US dollars that a postpaid org may spend in a UTC month; null: no limit'),
  })
  .meta({ examples: [{ billing: 'prepaid' }, { monthly_limit: 250 }] });

export const accountObject = z.object({
  object: z.literal('account').describe('Always account'),
  org: idOf('org').describe('The org'),
  billing: billingMode.describe('How it pays'),
  balance: dollars.nullable().describe('Credits left of a prepaid org; null: the org is postpaid'),
  credits: dollars.describe('All credits ever granted'),
  spent: dollars.describe('Everything ever spent'),
  held: dollars.describe('Held for running calls and computers'),
  month: z
    .object({
      starts_at: z.iso.datetime().describe('Its first moment'),
      ends_at: z.iso.datetime().describe('The first moment after it'),
      spent: dollars.describe('Spent in the month'),
      limit: dollars.nullable().describe('Limit of the month; null: no limit'),
    })
    .describe('The current UTC month'),
  as_of: z.iso.datetime().describe('Every figure is as of this moment'),
});
export type AccountObject = z.infer<typeof accountObject>;

export const createCreditRequest = z
  .strictObject({
    amount: amount.describe('US dollars, at most 9 decimals'),
    reason: storedText(z.string().min(1).max(CREDIT_REASON_LENGTH_MAX)).describe('Why it is granted'),
    reference: storedText(z.string().min(1).max(CREDIT_REFERENCE_LENGTH_MAX))
      .nullish()
      .describe('What it belongs to: an invoice, a payment, a request id'),
  })
  .meta({ examples: [{ amount: 25, reason: 'payment', reference: 'inv_2026_11' }] });

export const creditObject = z.object({
  id: idOf('credit').describe('Id of the credit'),
  object: z.literal('credit').describe('Always credit'),
  amount: dollars.describe('US dollars'),
  reason: z.string().describe('Why it was granted'),
  reference: z.string().nullable().describe('What it belongs to'),
  key_id: z.string().describe('The key that granted it'),
  created_at: z.iso.datetime().describe('When it was granted'),
});
export const creditList = listOf(creditObject);

/** The last day of an org's books, summed in three ways that must agree to the nano-dollar. */
export const accountAudit = z.object({
  object: z.literal('account_audit').describe('Always account_audit'),
  org: idOf('org').describe('The org'),
  checked_at: z.iso.datetime().describe('When it was checked'),
  from: z.iso.datetime().describe('Start of the checked time; it ends with the last booked row'),
  ledger: dollars.describe('The sum of the ledger'),
  logs: dollars.describe('The sum of Logs'),
  usage: dollars.describe('The sum of Usage, in the grouping that differs most'),
  statements_drift: dollars.describe(
    'Difference of all your statement lines from all-time Usage; should be 0',
  ),
  drift: dollars.describe('The largest of these differences; should be 0'),
  gapless: z.boolean().describe('Whether the ledger numbers have no gap'),
  answers_compared: z
    .int()
    .describe('Number of recent answers with a stated cost that were looked up in the ledger'),
  answers_wrong: z.int().describe('How many of them the ledger lacks or has at another cost; should be 0'),
});

/** Holds what a call may cost; a repeat with the same `call` makes the hold larger or smaller. */
export const takeHold = z.object({
  org: idOf('org'),
  key_id: z.string(),
  /** Id of the event that will charge it. */
  call: z.string(),
  amount_nano: nanos,
  /** The amount is the price, not an estimate. */
  exact: z.boolean(),
});
export const grantedHold = z.object({
  /** Null: nothing limits this call, and nothing is held. */
  granted_nano: nanos.nullable(),
  /** Less than requested: the call holds all that is left, and must stay within it. */
  capped: z.boolean(),
});
export type GrantedHold = z.infer<typeof grantedHold>;

export const settleHold = z.object({
  org: idOf('org'),
  /** Id of the event that charges it. */
  call: z.string(),
  cost_nano: nanos,
});

/** Holds of one instance for the orgs at one place, renewed every `HOLD_RENEW_MS`: without renewal, a hold ends. */
export const renewHolds = z.object({
  place: z
    .number()
    .int()
    .min(0)
    .max(PLACES - 1),
  holds: z
    .array(takeHold.pick({ org: true, key_id: true, call: true, amount_nano: true }))
    .max(HOLDS_RENEWED_AT_ONCE_MAX),
});

/**
 * Asks to hold the price of a computer's minute. It has neither key nor amount: billing takes them from the placement,
 * which must name this host.
 */
export const hostHold = z.object({
  host: idOf('host'),
  org: idOf('org'),
  /** Id of the minute's event. */
  call: z.string(),
});

export const settleHostHold = hostHold.extend({
  /** Whether the minute is charged. */
  spent: z.boolean(),
});

/** Like `renewHolds`, for the holds of one host. */
export const renewHostHolds = renewHolds.pick({ place: true }).extend({
  host: idOf('host'),
  holds: z.array(hostHold.omit({ host: true })).max(HOLDS_RENEWED_AT_ONCE_MAX),
});
/** Milliseconds between two renewals. */
export const HOLD_RENEW_MS = 2_000;
