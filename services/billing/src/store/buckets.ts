// The aggregates that include a ledger row, and the amounts that the row adds. Pure.
import { lineIdOf, lineKeyOf } from '../statements/months.ts';
import {
  type AggregateHead,
  type Amounts,
  FAMILIES,
  type Family,
  type LedgerRow,
  QUARTERS,
  type Quarter,
  type StatementLineDocument,
  type UnnumberedRow,
} from './documents.ts';
import { addQuantities } from './quantities.ts';
import type { Aggregates } from './store.ts';

export const MINUTE_MS = 60_000;
export const QUARTER_MS = 15 * MINUTE_MS;
export const HOUR_MS = 4 * QUARTER_MS;
export const DAY_MS = 24 * HOUR_MS;

/** An aggregate that includes a row. */
export interface Bucket {
  readonly into: keyof Aggregates;
  readonly id: string;
  /** The fields that identify it. */
  readonly head:
    | Pick<AggregateHead, 'p' | 'org' | 'family' | 'value' | 'start'>
    | Omit<StatementLineDocument, '_id' | 'n' | keyof Amounts>;
}

/** Whether a row changes no sum; such a row is in no aggregate. */
export function isVacuous(row: Amounts): boolean {
  return row.calls === 0n && row.cost === 0n && Object.keys(row.quantities).length === 0;
}

/** The hours, the days and the line of a statement that include a row. */
export function bucketsOf(row: LedgerRow): Bucket[] {
  if (isVacuous(row)) return [];
  const { p, org, at } = row;
  const usage = FAMILIES.flatMap((family) =>
    (['hours', 'days'] as const).map((into): Bucket => {
      const value = family === 'total' ? null : (row[family] ?? null);
      const length = into === 'hours' ? HOUR_MS : DAY_MS;
      const start = new Date(Math.floor(at.getTime() / length) * length);
      return { into, id: bucketId(p, org, start, family, value), head: { p, org, family, value, start } };
    }),
  );
  const key = lineKeyOf(row);
  const line = lineIdOf(key);
  const id = `${p}/${org}/${key.month}/${line}`;
  return [...usage, { into: 'lines', id, head: { p, org, line, ...key } }];
}

/** The value comes last, after `=`, so that two names, or a name and no name, never give the same id. */
export function bucketId(p: string, org: string, start: Date, family: Family, value: string | null): string {
  const group = value === null ? family : `${family}=${value}`;
  return `${p}/${org}/${start.toISOString()}/${group}`;
}

export function quarterOf(at: Date): Quarter {
  const quarter = Math.floor((at.getTime() % HOUR_MS) / QUARTER_MS);
  return QUARTERS[quarter] ?? '0';
}

export function noAmounts(): Amounts {
  return { calls: 0n, cost: 0n, quantities: {} };
}

export function addAmounts(into: Amounts, more: Pick<UnnumberedRow, keyof Amounts>): void {
  into.calls += more.calls;
  into.cost += more.cost;
  addQuantities(into.quantities, more.quantities);
}

/** The increments of an aggregate for amounts of one quarter of an hour, by the path of the field. */
export function incrementsOf(
  into: keyof Aggregates,
  quarter: Quarter,
  { calls, cost, quantities }: Amounts,
): [path: string, amount: bigint][] {
  const path = into === 'hours' ? `quarters.${quarter}.` : '';
  return [
    [`${path}calls`, calls],
    [`${path}cost`, cost],
    ...Object.entries(quantities).map(([name, n]): [string, bigint] => [`${path}quantities.${name}`, n]),
  ];
}
