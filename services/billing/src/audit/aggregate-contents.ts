// The contents of an aggregate as flat sums by path, the form in which an audit compares and adds them. Pure.
import { bucketsOf, incrementsOf, quarterOf } from '../store/buckets.ts';
import type { DayAggregate, HourAggregate, LedgerRow, StatementLineDocument } from '../store/documents.ts';
import type { Aggregates } from '../store/store.ts';

export type Aggregate = HourAggregate | DayAggregate | StatementLineDocument;

export interface Contents {
  /** Sums by the path of their field: `cost`, `quarters.1.quantities.seconds`. */
  readonly sums: Map<string, bigint>;
  /** The rates that were charged; only in lines of statements. */
  readonly rates: Set<string>;
  /** The fields that identify the aggregate, as text; '' for contents without an aggregate. */
  readonly head: string;
}

export function noContents(): Contents {
  return { sums: new Map(), rates: new Set(), head: '' };
}

export function contentsOf(aggregate: Aggregate | undefined): Contents {
  if (!aggregate) return noContents();
  const { _id, n, ...fields } = aggregate;
  const sums = new Map<string, bigint>();
  const head: [string, unknown][] = [];
  const collect = (path: string, value: unknown) => {
    if (typeof value === 'bigint') sums.set(path, value);
    else if (value === null || typeof value !== 'object' || value instanceof Date) head.push([path, value]);
    else for (const [name, part] of Object.entries(value)) collect(`${path}.${name}`, part);
  };
  const { rates = [], ...others } = fields as Partial<StatementLineDocument>;
  for (const [name, value] of Object.entries(others)) collect(name, value);
  return { sums, rates: new Set(rates), head: JSON.stringify(head.sort(byPath)) };
}

/** Adds a ledger row to the contents of one aggregate. */
export function addRow(contents: Contents, into: keyof Aggregates, row: LedgerRow): void {
  for (const [path, amount] of incrementsOf(into, quarterOf(row.at), row))
    contents.sums.set(path, (contents.sums.get(path) ?? 0n) + amount);
  if (into === 'lines') for (const rate of row.rates ?? []) contents.rates.add(rate);
}

/** Ids of the aggregates of one kind that include a row. */
export function idsOf(into: keyof Aggregates, row: LedgerRow): string[] {
  return bucketsOf(row).flatMap((bucket) => (bucket.into === into ? bucket.id : []));
}

/** Nano-dollars. */
export function costOf({ sums }: Contents): bigint {
  let cost = 0n;
  for (const [path, sum] of sums) if (/^(quarters\.\d\.)?cost$/.test(path)) cost += sum;
  return cost;
}

/** The contents as text. Equal amounts give equal text; zero sums are left out. */
export function shown({ sums, rates }: Contents): string {
  const words = [...sums]
    .filter(([, sum]) => sum !== 0n)
    .sort(byPath)
    .map(([path, sum]) => `${path} ${sum}`);
  if (rates.size > 0) words.push(`rates ${[...rates].sort().join(', ')}`);
  return words.length === 0 ? 'nothing' : words.join('; ');
}

function byPath([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
