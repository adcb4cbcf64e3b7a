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
import type { Amounts, LedgerRow, StatementLineDocument, UnnumberedRow } from '../store/documents.ts';
import { readQuantities } from '../store/quantities.ts';
import type { Store } from '../store/store.ts';
import { closesAt } from './months.ts';

/** The sums of a month, in nano-dollars. */
interface MonthSums {
  credits: bigint;
  charges: bigint;
  refunds: bigint;
}

/** All months of an org that have lines, in order, each with its balances. */
export async function readSummaries(store: Store, org: string, now: number): Promise<StatementSummary[]> {
  const months = await sumsByMonth(store, org);
  let balance = 0n;
  return [...months.keys()].sort().map((month) => {
    const sums = months.get(month) ?? { credits: 0n, charges: 0n, refunds: 0n };
    const summary = summaryOf(month, sums, balance, now);
    balance += sums.credits - sums.charges - sums.refunds;
    return summary;
  });
}

/** The statement of a month; empty when the month has no lines. */
export async function readStatement(
  store: Store,
  org: string,
  month: string,
  now: number,
): Promise<Statement> {
  const months = await sumsByMonth(store, org);
  let opening = 0n;
  for (const [other, { credits, charges, refunds }] of months)
    if (other < month) opening += credits - charges - refunds;
  const lines = together(await answered(store.aggregates.lines.find({ org, month }).toArray()));
  const sums = months.get(month) ?? { credits: 0n, charges: 0n, refunds: 0n };
  const granted = (await creditRows(store, org)).filter((row) => row.month === month);
  return {
    ...summaryOf(month, sums, opening, now),
    org,
    lines: folded(lines).sort(inOrder).map(lineOf),
    granted: granted.flatMap(creditOf),
  };
}

async function sumsByMonth(store: Store, org: string): Promise<Map<string, MonthSums>> {
  const months = new Map<string, MonthSums>();
  const of = (month: string) => {
    const sums = months.get(month) ?? { credits: 0n, charges: 0n, refunds: 0n };
    months.set(month, sums);
    return sums;
  };
  for (const { month, kind, cost } of await answered(sumsOfLines(store, org)))
    of(month)[kind === 'refund' ? 'refunds' : 'charges'] += cost;
  for (const row of await creditRows(store, org)) of(row.month).credits += row.credit?.amount ?? 0n;
  return months;
}

type SumOfLines = Pick<StatementLineDocument, 'month' | 'kind' | 'cost'>;

/**
 * The sums of all statements of an org by month and kind. The server adds them up: an org has a line for each computer
 * and month.
 */
export async function sumsOfLines({ aggregates }: Store, org: string): Promise<SumOfLines[]> {
  const sums = aggregates.lines.aggregate<{ _id: Omit<SumOfLines, 'cost'>; cost: bigint | number }>([
    { $match: { org } },
    { $group: { _id: { month: '$month', kind: '$kind' }, cost: { $sum: '$cost' } } },
  ]);
  return (await sums.toArray()).map(({ _id, cost }) => ({ ..._id, cost: BigInt(cost) }));
}

function creditRows({ ledger }: Store, org: string): Promise<LedgerRow[]> {
  return answered(ledger.find({ 'credit.org': org }).toArray());
}

function summaryOf(
  month: string,
  { credits, charges, refunds }: MonthSums,
  opening: bigint,
  now: number,
): StatementSummary {
  const total = charges + refunds;
  return {
    ...{ object: 'statement', month, status: now < closesAt(month) ? 'open' : 'closed' },
    closes_at: new Date(closesAt(month)).toISOString(),
    opening_balance: dollarsToJson(opening),
    credits: dollarsToJson(credits),
    charges: dollarsToJson(charges),
    refunds: dollarsToJson(refunds),
    total: dollarsToJson(total),
    closing_balance: dollarsToJson(opening + credits - total),
  };
}

/** Merges the parts that a line has in several partitions. */
function together(parts: readonly StatementLineDocument[]): StatementLineDocument[] {
  return [...Map.groupBy(parts, ({ line }) => line).values()].flatMap(([first, ...others]) => {
    if (!first || others.length === 0) return first ?? [];
    const rates = [first, ...others].flatMap((part) => part.rates ?? []);
    const sum = sumOf([first, ...others]);
    return { ...first, ...sum, ...(rates.length > 0 ? { rates: [...new Set(rates)] } : {}) };
  });
}

/** The lines of the largest amounts, and one line for all others of a kind. */
function folded(lines: readonly StatementLineDocument[]): StatementLineDocument[] {
  const bySize = lines.toSorted((a, b) => {
    const difference = sizeOf(b) - sizeOf(a);
    return difference === 0n ? (a.line < b.line ? -1 : 1) : difference > 0n ? 1 : -1;
  });
  const others = Map.groupBy(bySize.slice(STATEMENT_LINES_MAX), ({ kind }) => kind);
  return [
    ...bySize.slice(0, STATEMENT_LINES_MAX),
    ...[...others].flatMap(([kind, [first, ...more]]) => {
      if (!first) return [];
      const nothing = { type: null, model: null, computer: null, late: false, rates: [] };
      return { ...first, ...nothing, line: OTHER_LINES[kind], ...sumOf([first, ...more]) };
    }),
  ];
}

function sizeOf({ cost }: StatementLineDocument): bigint {
  return cost < 0n ? -cost : cost;
}

function sumOf(lines: readonly StatementLineDocument[]): Amounts {
  const sum = noAmounts();
  for (const { calls, cost, quantities = {} } of lines) addAmounts(sum, { calls, cost, quantities });
  return sum;
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
