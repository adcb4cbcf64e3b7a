// Which aggregates a ledger row belongs to, and what it adds to each. Pure.
import {
  type Amounts,
  FAMILIES,
  type Family,
  type LedgerRow,
  QUARTERS,
  type Quarter,
  type UnnumberedRow,
} from './documents.ts';
import { addQuantities } from './quantities.ts';

export const QUARTER_MS = 15 * 60_000;
export const HOUR_MS = 4 * QUARTER_MS;
export const DAY_MS = 24 * HOUR_MS;

/** One aggregate that a row is in. */
export interface Bucket {
  readonly id: string;
  readonly span: 'hour' | 'day';
  readonly org: string;
  readonly family: Family;
  readonly value: string | null;
  readonly start: Date;
}

/** A row that changes no sum is in no aggregate. */
export function isVacuous(row: Amounts): boolean {
  return row.calls === 0n && row.cost === 0n && Object.keys(row.quantities).length === 0;
}

export function bucketsOf(row: LedgerRow): Bucket[] {
  if (isVacuous(row)) return [];
  const hour = new Date(Math.floor(row.at.getTime() / HOUR_MS) * HOUR_MS);
  const day = new Date(Math.floor(row.at.getTime() / DAY_MS) * DAY_MS);
  return FAMILIES.flatMap((family) => {
    const value = family === 'total' ? null : (row[family] ?? null);
    const bucket = (span: 'hour' | 'day', start: Date): Bucket => ({
      id: bucketId(row.p, row.org, start, family, value),
      ...{ span, org: row.org, family, value, start },
    });
    return [bucket('hour', hour), bucket('day', day)];
  });
}

/** The value comes last and after `=`, so that no name can be taken for another's, nor for none. */
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
