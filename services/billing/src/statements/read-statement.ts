// Statements from the stored lines of their months, with opening and closing balances.
import {
  OTHER_LINES,
  STATEMENT_LINES_MAX,
  type Statement,
  type StatementLine,
  type StatementSummary,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { answered } from '../store/answered.ts';
import { addAmounts, noAmounts } from '../store/buckets.ts';
import type { LedgerRow, StatementLineDocument, UnnumberedRow } from '../store/documents.ts';
import { readQuantities } from '../store/quantities.ts';
import type { Store } from '../store/store.ts';
import { CURSOR } from '../usage/read-ledger.ts';
import { closesAt } from './months.ts';

/** The sums of a month, in nano-dollars. */
interface MonthSums {
  credits: bigint;
  charges: bigint;
  refunds: bigint;
}

/** All months of an org that have lines, in order, each with its balances. */
export async function readSummaries(store: Store, org: string, now: number): Promise<StatementSummary[]> {
  const months = sumsByMonth(await answered(sumsOfLines(store, org)), await creditRows(store, org));
  let balance = 0n;
  return [...months.keys()].sort().map((month) => {
    const sums = months.get(month) ?? noSums();
    const summary = summaryOf(month, sums, balance, now);
    balance += netOf(sums);
    return summary;
  });
}

/**
 * The statement of a month; empty when the month has no lines. Rows may be booked meanwhile: the totals are those of the
 * lines as read, so they always add up.
 * @throws the reason of the signal
 */
export async function readStatement(
  store: Store,
  org: string,
  month: string,
  now: number,
  signal?: AbortSignal,
): Promise<Statement> {
  const credits = await creditRows(store, org);
  let opening = 0n;
  for (const { cost } of await answered(sumsOfLines(store, org, { $lt: month }))) opening -= cost;
  for (const row of credits) if (row.month < month) opening += row.credit?.amount ?? 0n;
  const lines = await readLines(store, { org, month }, signal);
  const granted = credits.filter((row) => row.month === month);
  const sums = sumsByMonth(lines, granted).get(month) ?? noSums();
  return {
    ...summaryOf(month, sums, opening, now),
    org,
    lines: lines.sort(inOrder).map(lineOf),
    granted: granted.flatMap(creditOf),
  };
}

function noSums(): MonthSums {
  return { credits: 0n, charges: 0n, refunds: 0n };
}

function netOf({ credits, charges, refunds }: MonthSums): bigint {
  return credits - charges - refunds;
}

function sumsByMonth(lines: readonly SumOfLines[], credits: readonly LedgerRow[]): Map<string, MonthSums> {
  const months = new Map<string, MonthSums>();
  const of = (month: string) => {
    const sums = months.get(month) ?? noSums();
    months.set(month, sums);
    return sums;
  };
  for (const { month, kind, cost } of lines) of(month)[kind === 'refund' ? 'refunds' : 'charges'] += cost;
  for (const row of credits) of(row.month).credits += row.credit?.amount ?? 0n;
  return months;
}

type SumOfLines = Pick<StatementLineDocument, 'month' | 'kind' | 'cost'>;

/**
 * The sums of the statements of an org by month and kind. The server adds them up: an org has a line for each computer
 * and month.
 */
export async function sumsOfLines(
  { aggregates }: Store,
  org: string,
  month?: { readonly $lt: string },
): Promise<SumOfLines[]> {
  const sums = aggregates.lines.aggregate<{ _id: Omit<SumOfLines, 'cost'>; cost: bigint | number }>([
    { $match: month ? { org, month } : { org } },
    { $group: { _id: { month: '$month', kind: '$kind' }, cost: { $sum: '$cost' } } },
  ]);
  return (await sums.toArray()).map(({ _id, cost }) => ({ ..._id, cost: BigInt(cost) }));
}

function creditRows({ ledger }: Store, org: string): Promise<LedgerRow[]> {
  return answered(ledger.find({ 'credit.org': org }).toArray());
}

function summaryOf(month: string, sums: MonthSums, opening: bigint, now: number): StatementSummary {
  const { credits, charges, refunds } = sums;
  return {
    ...{ object: 'statement', month, status: now < closesAt(month) ? 'open' : 'closed' },
    closes_at: new Date(closesAt(month)).toISOString(),
    opening_balance: dollarsToJson(opening),
    credits: dollarsToJson(credits),
    charges: dollarsToJson(charges),
    refunds: dollarsToJson(refunds),
    total: dollarsToJson(charges + refunds),
    closing_balance: dollarsToJson(opening + netOf(sums)),
  };
}

type OfMonth = Pick<StatementLineDocument, 'org' | 'month'>;

/** The lines of the largest amounts, and one line for all others of a kind. Memory holds no more than these. */
async function readLines(
  { aggregates }: Store,
  of: OfMonth,
  signal: AbortSignal | undefined,
): Promise<StatementLineDocument[]> {
  const largest = await answered(largestLines(aggregates, of));
  const lines = new Map<string, StatementLineDocument>();
  for await (const part of aggregates.lines.find(of, CURSOR)) {
    signal?.throwIfAborted();
    // A line may be new since the largest were chosen.
    const isListed = largest.has(part.line) || largest.size < STATEMENT_LINES_MAX;
    const line = isListed ? part : { ...part, ...ALL_OTHERS, line: OTHER_LINES[part.kind] };
    const before = lines.get(line.line);
    lines.set(line.line, before ? together(before, line) : line);
  }
  return [...lines.values()];
}

const ALL_OTHERS = { type: null, model: null, computer: null, late: false, rates: [] };

async function largestLines({ lines }: Store['aggregates'], of: OfMonth): Promise<Set<string>> {
  const largest = lines.aggregate<{ _id: string }>([
    { $match: of },
    { $group: { _id: '$line', cost: { $sum: '$cost' } } },
    { $project: { size: { $abs: '$cost' } } },
    { $sort: { size: -1, _id: 1 } },
    { $limit: STATEMENT_LINES_MAX },
  ]);
  return new Set((await largest.toArray()).map(({ _id }) => _id));
}

/** Merges two parts of a line: it has one in each partition. */
function together(a: StatementLineDocument, b: StatementLineDocument): StatementLineDocument {
  const sum = noAmounts();
  for (const { calls, cost, quantities = {} } of [a, b]) addAmounts(sum, { calls, cost, quantities });
  const rates = [...new Set([...(a.rates ?? []), ...(b.rates ?? [])])];
  return { ...a, ...sum, ...(rates.length > 0 ? { rates } : {}) };
}

/** Usage before refunds; within each, the most expensive first. */
function inOrder(a: StatementLineDocument, b: StatementLineDocument): number {
  if (a.kind !== b.kind) return a.kind === 'usage' ? -1 : 1;
  if (a.cost !== b.cost) return a.cost > b.cost ? -1 : 1;
  return a._id < b._id ? -1 : 1;
}

function lineOf(document: StatementLineDocument): StatementLine {
  const { line, kind, type, model, computer, late, calls, cost, quantities = {}, rates = [] } = document;
  return {
    ...{ id: line, kind, type, model, computer_id: computer, late, calls: Number(calls) },
    quantities: readQuantities(quantities),
    rates: singleRates(rates),
    amount: dollarsToJson(cost),
  };
}

/** The rates of units that had a single rate. */
function singleRates(rates: readonly string[]): StatementLine['rates'] {
  const byUnit = Map.groupBy(rates, (rate) => rate.slice(0, rate.indexOf(' ')));
  return [...byUnit]
    .filter(([, all]) => all.length === 1)
    .map(([unit, [rate = '']]) => ({ unit, rate: rate.slice(unit.length + 1) }))
    .sort((a, b) => (a.unit < b.unit ? -1 : 1));
}

/** A ledger row of credits as the API shows it; none for other rows. */
export function creditOf({ _id, at, credit }: UnnumberedRow): Statement['granted'] {
  if (!credit) return [];
  const { amount, reason, reference, key } = credit;
  return [
    {
      ...{ id: _id, object: 'credit', amount: dollarsToJson(amount), reason, reference, key_id: key },
      created_at: at.toISOString(),
    },
  ];
}
