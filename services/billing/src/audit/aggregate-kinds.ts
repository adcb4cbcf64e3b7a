// The three kinds of sums that billing folds the ledger into, as an audit compares them: which of them a row is in, and
// what one says beside the last row that it holds.
import type { Collection } from 'mongodb';
import { addAmounts, bucketsOf, noAmounts, quarterOf } from '../store/buckets.ts';
import type {
  Amounts,
  DayAggregate,
  HourAggregate,
  LedgerRow,
  StatementLineDocument,
  StoredAmounts,
} from '../store/documents.ts';
import { statementLineOf } from '../store/fold-lines.ts';
import type { Workplace } from './audit-run.ts';
import type { OrgSums } from './org-sums.ts';

export type Aggregate = HourAggregate | DayAggregate | StatementLineDocument;

/** What an aggregate sums up. */
export interface Contents {
  /** By quarter; of what is not divided, one under ''. */
  readonly parts: Map<string, Amounts>;
  /** Of a statement's line: the rates that were charged. */
  readonly rates: Set<string>;
}

/** Where a row is: the id of an aggregate, and the part of it. */
export interface Place {
  readonly id: string;
  readonly part: string;
}

export interface AggregateKind {
  readonly collectionOf: (from: Workplace) => Collection<Aggregate>;
  readonly placesOf: (row: LedgerRow) => Place[];
  /** What it sums up, in words: the same words for the same thing. */
  readonly headOf: (aggregate: Aggregate) => string;
  /** Adds what one costs to the sums of its org. */
  readonly addTo: (sums: OrgSums, aggregate: Aggregate, cost: bigint) => void;
}

/** The driver's types cannot see through a choice of collections; what is used of all three is the same. */
const anyOf = (collection: unknown) => collection as Collection<Aggregate>;

const isLine = (aggregate: Aggregate): aggregate is StatementLineDocument => 'line' in aggregate;

function headOfSum(aggregate: Aggregate): string {
  if (isLine(aggregate)) throw new Error(`${aggregate._id} is a line of a statement`);
  const { org, family, value, start } = aggregate;
  return JSON.stringify([org, family, value, start]);
}

function headOfLine(aggregate: Aggregate): string {
  if (!isLine(aggregate)) throw new Error(`${aggregate._id} is no line of a statement`);
  const { org, month, line, kind, type, model, computer, late } = aggregate;
  return JSON.stringify([org, month, line, kind, type, model, computer, late]);
}

const addToUsage =
  (span: 'hours' | 'days'): AggregateKind['addTo'] =>
  (sums, aggregate, cost) => {
    if (!isLine(aggregate)) sums[span][aggregate.family] += cost;
  };

export const KINDS = {
  hours: {
    collectionOf: ({ aggregates }) => anyOf(aggregates.hours),
    placesOf: (row) => placesIn('hour', row, quarterOf(row.at)),
    headOf: headOfSum,
    addTo: addToUsage('hours'),
  },
  days: {
    collectionOf: ({ aggregates }) => anyOf(aggregates.days),
    placesOf: (row) => placesIn('day', row, ''),
    headOf: headOfSum,
    addTo: addToUsage('days'),
  },
  lines: {
    collectionOf: ({ statementLines }) => anyOf(statementLines),
    placesOf: (row) => {
      const line = statementLineOf(row);
      return line ? [{ id: line.id, part: '' }] : [];
    },
    headOf: headOfLine,
    addTo: (sums, _line, cost) => {
      sums.statements += cost;
    },
  },
} as const satisfies Record<string, AggregateKind>;
export type KindName = keyof typeof KINDS;

function placesIn(span: 'hour' | 'day', row: LedgerRow, part: string): Place[] {
  return bucketsOf(row)
    .filter((bucket) => bucket.span === span)
    .map(({ id }) => ({ id, part }));
}

export function noContents(): Contents {
  return { parts: new Map(), rates: new Set() };
}

export function contentsOf(aggregate: Aggregate | undefined): Contents {
  const contents = noContents();
  if (!aggregate) return contents;
  const stored: [string, StoredAmounts][] =
    'quarters' in aggregate ? Object.entries(aggregate.quarters) : [['', aggregate]];
  for (const [part, { calls, cost, quantities = {} }] of stored)
    addTo(contents, part, { calls, cost, quantities });
  if (isLine(aggregate)) for (const rate of aggregate.rates ?? []) contents.rates.add(rate);
  return contents;
}

/** Of rows, the rates too: they count in lines only. */
export function addTo(into: Contents, part: string, more: Amounts & { readonly rates?: string[] }): void {
  const sum = into.parts.get(part) ?? noAmounts();
  addAmounts(sum, more);
  into.parts.set(part, sum);
  for (const rate of more.rates ?? []) into.rates.add(rate);
}

export function costOf({ parts }: Contents): bigint {
  let cost = 0n;
  for (const part of parts.values()) cost += part.cost;
  return cost;
}

/** In words, and the same words for the same amounts: what nets to nothing is as good as absent. */
export function shown({ parts, rates }: Contents): string {
  const words: string[] = [];
  for (const [name, { calls, cost, quantities }] of [...parts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const counted = Object.entries(quantities)
      .filter(([, thousandths]) => thousandths !== 0n)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([unit, thousandths]) => `, ${thousandths}/1000 ${unit}`);
    if (calls === 0n && cost === 0n && counted.length === 0) continue;
    words.push(
      `${name === '' ? '' : `quarter ${name}: `}${calls} calls, ${cost} nano-dollars${counted.join('')}`,
    );
  }
  if (rates.size > 0) words.push(`rates ${[...rates].sort().join(', ')}`);
  return words.length === 0 ? 'nothing' : words.join('; ');
}
