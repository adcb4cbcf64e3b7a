// Adds up the points of segments by interval and group, and formats them as rows.
import { ServiceError, type UsageReport, type UsageRow } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { addAmounts, isVacuous, noAmounts } from '../store/buckets.ts';
import type { Amounts, StoredAmounts } from '../store/documents.ts';
import { readQuantities } from '../store/quantities.ts';
import { intervalStarts } from './intervals.ts';
import type { UsageRange } from './range.ts';

/** Maximum number of rows in one answer. */
const ROWS_MAX = 50_000;

/** Amounts of one group at one time. */
export interface Point {
  readonly at: number;
  readonly group: string | null;
  readonly amounts: StoredAmounts;
}

interface Cell {
  readonly from: number | null;
  readonly group: string | null;
  readonly sum: Amounts;
}

export class Tally {
  readonly #range: UsageRange;
  /** Start times of the intervals, in order; empty without intervals. */
  readonly #starts: readonly number[];
  readonly #cells = new Map<string, Cell>();

  constructor(range: UsageRange) {
    this.#range = range;
    const { interval, from, to, zone } = range;
    this.#starts = interval === null ? [] : intervalStarts(interval, from, to, zone);
  }

  /** @throws ServiceError `invalid_request` when the answer would have too many rows */
  add({ at, group, amounts }: Point): void {
    const { interval, groupBy } = this.#range;
    const from = interval === null ? null : lastAtOrBefore(at, this.#starts);
    const id = `${from}/${groupBy === null || group === null ? '' : `=${group}`}`;
    let cell = this.#cells.get(id);
    if (!cell) {
      if (this.#cells.size === ROWS_MAX)
        throw new ServiceError('invalid_request', `from: the answer would have over ${ROWS_MAX} rows`, {
          param: 'from',
        });
      cell = { from, group: groupBy === null ? null : group, sum: noAmounts() };
      this.#cells.set(id, cell);
    }
    addAmounts(cell.sum, { ...amounts, quantities: amounts.quantities ?? {} });
  }

  /** The rows by time, then the most expensive first. Rows that net to zero are left out. */
  rows(): { total: UsageReport['total']; data: UsageRow[] } {
    const total = noAmounts();
    const cells = [...this.#cells.values()].filter(({ sum }) => !isVacuous(withoutZeros(sum)));
    for (const { sum } of cells) addAmounts(total, sum);
    cells.sort((a, b) => (a.from ?? 0) - (b.from ?? 0) || compare(b.sum.cost, a.sum.cost) || byGroup(a, b));
    return { total: written(total), data: cells.map((cell) => this.#row(cell)) };
  }

  #row({ from, group, sum }: Cell): UsageRow {
    return {
      ...(from === null ? {} : { from: new Date(from).toISOString() }),
      ...(this.#range.groupBy === null ? {} : { group }),
      ...written(sum),
    };
  }
}

/** Binary search in sorted numbers. Returns the first one when all are later. */
function lastAtOrBefore(at: number, starts: readonly number[]): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return starts[low] ?? at;
}

function written({ calls, cost, quantities }: Amounts): UsageReport['total'] {
  return { calls: Number(calls), cost: dollarsToJson(cost), quantities: readQuantities(quantities) };
}

function withoutZeros(sum: Amounts): Amounts {
  const quantities = Object.fromEntries(Object.entries(sum.quantities).filter(([, value]) => value !== 0n));
  return { ...sum, quantities };
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function byGroup(a: Cell, b: Cell): number {
  return (a.group ?? '') < (b.group ?? '') ? -1 : 1;
}
