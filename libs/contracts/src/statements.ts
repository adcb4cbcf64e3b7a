// Statements: what an org owes for a month, line by line, and the ledger rows that each line is the sum of.
import { z } from 'zod';
import { creditObject } from './accounts.ts';
import { dollars } from './dollars.ts';
import { LEDGER_KINDS } from './ledger-kinds.ts';
import { listOf } from './lists.ts';
import { quantities } from './log-entry.ts';

/** Hours after its end in which a month takes its events; later ones go to the next month, as `late`. */
export const STATEMENT_CLOSES_AFTER_HOURS = 48;

/** Lines that a statement lists by themselves, the largest amounts; the others are one line for each kind. */
export const STATEMENT_LINES_MAX = 1_000;
/** Ids of the lines that sum up all others of a kind. */
export const OTHER_LINES = { usage: 'others', refund: 'other_refunds' } as const;

export const statementMonth = z
  .string()
  .regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month, such as 2026-11')
  .describe('A UTC month, such as 2026-11');

export const statementSummary = z.object({
  object: z.literal('statement').describe('Always statement'),
  month: statementMonth,
  status: z.enum(['open', 'closed']).describe('A closed one never changes'),
  closes_at: z.iso.datetime().describe('When it is closed'),
  opening_balance: dollars.describe('All earlier credits minus all earlier charges; negative: owed'),
  credits: dollars.describe('Credits granted in it'),
  charges: dollars.describe('The sum of its lines without refunds'),
  refunds: dollars.describe('The sum of its refunds, negative'),
  total: dollars.describe('The sum of its lines'),
  closing_balance: dollars.describe('Opening balance plus credits less the total'),
});
export type StatementSummary = z.infer<typeof statementSummary>;

export const statementLine = z.object({
  id: z
    .string()
    .describe(
      `Id of the line: its events are at /v1/statements/{month}/lines/{id}. ${Object.values(OTHER_LINES).join(' and ')} sum up other lines, and have no events`,
    ),
  kind: z.enum(['usage', 'refund']).describe('What it sums up'),
  type: z.string().nullable().describe('Type of the model, or computer'),
  model: z.string().nullable().describe('The model that served'),
  computer_id: z.string().nullable().describe('The computer'),
  late: z.boolean().describe('From an earlier month, already closed at booking'),
  calls: z.int().describe('Calls that reached a model'),
  quantities,
  rates: z
    .array(
      z.object({ unit: z.string().describe('The unit'), rate: z.string().describe('US dollars per unit') }),
    )
    .describe('Rates that were the same in the whole line'),
  amount: dollars,
});
export type StatementLine = z.infer<typeof statementLine>;

export const statement = statementSummary.extend({
  org: z.string().describe('The org'),
  lines: z
    .array(statementLine)
    .describe(
      `Usage and refunds: the ${STATEMENT_LINES_MAX} largest lines, and one line of each kind for all others`,
    ),
  granted: z.array(creditObject).describe('The credits of the month'),
});
export type Statement = z.infer<typeof statement>;
export const statementList = listOf(statementSummary);

/** A credit and a fence are in no line. */
const KINDS = Object.keys(LEDGER_KINDS).filter((kind) => kind !== 'credit' && kind !== 'fence');

export const statementEvent = z.object({
  event: z.string().describe('Id of the event'),
  number: z.int().describe('Number of its row in the ledger'),
  kind: z.string().describe(`What the row is: ${KINDS.join(', ')}`),
  at: z.iso.datetime().describe('When the charged work ended'),
  key_id: z.string().nullable().describe('The key that called, or made the computer'),
  calls: z.int().describe('Calls that reached a model'),
  quantities,
  amount: dollars,
});
export const statementEventList = listOf(statementEvent);

export const statementHttpQuery = z.strictObject({
  format: z.enum(['json', 'csv', 'html']).optional().describe('json, csv, or html: a page to print'),
});
