// Adds up the points of segments by interval and group, and formats them as rows.
import { invalidParam, type ServiceError, type UsageReport, type UsageRow } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { addAmounts, isVacuous, noAmounts } from '../store/buckets.ts';
import type { Amounts, StoredAmounts } from '../store/documents.ts';
import { readQuantities } from '../store/quantities.ts';
import { intervalStarts } from './intervals.ts';
import { isTagGroup, type UsageRange } from './range.ts';

/** Maximum number of rows in one answer. */
const ROWS_MAX = 50_000;
/** Cells before rare values of a tag are merged: about 80 MB. */
const CELLS_MAX = 4 * ROWS_MAX;
/** Values of a tag with rows of their own: those that cost most. */
export const TAG_VALUES_MAX = 1_000;
/** The row of all other values of a tag. */
export const OTHER_VALUES = '(other)';

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
    const { sum } = this.#cellOf(from, groupBy === null ? null : group);
    addAmounts(sum, { ...amounts, quantities: amounts.quantities ?? {} });
  }

  #cellOf(from: number | null, group: string | null): Cell {
    const id = `${from}/${group === null ? '' : `=${group}`}`;
    const found = this.#cells.get(id);
    if (found) return found;
    if (this.#cells.size >= (isTagGroup(this.#range.groupBy) ? CELLS_MAX : ROWS_MAX)) throw tooManyRows();
    const cell = { from, group, sum: noAmounts() };
    this.#cells.set(id, cell);
    return cell;
  }

  /**
   * The rows by time, then the most expensive first. Rows that net to zero are left out.
   * @throws ServiceError `invalid_request` when the answer would have too many rows
   */
  rows(): { total: UsageReport['total']; data: UsageRow[] } {
    if (isTagGroup(this.#range.groupBy)) this.#foldRareValues();
    if (this.#cells.size > ROWS_MAX) throw tooManyRows();
    const total = noAmounts();
    const cells = [...this.#cells.values()].filter(({ sum }) => !isVacuous(withoutZeros(sum)));
    for (const { sum } of cells) addAmounts(total, sum);
    cells.sort((a, b) => (a.from ?? 0) - (b.from ?? 0) || compare(b.sum.cost, a.sum.cost) || byGroup(a, b));
    return { total: written(total), data: cells.map((cell) => this.#row(cell)) };
  }

  /** Leaves the values that cost most, and adds the others up as one. */
  #foldRareValues(): void {
    const costs = new Map<string, bigint>();
    for (const { group, sum } of this.#cells.values())
      if (group !== null) costs.set(group, (costs.get(group) ?? 0n) + sum.cost);
    if (costs.size <= TAG_VALUES_MAX) return;
    const dearest = [...costs].sort(([, a], [, b]) => compare(b, a)).slice(0, TAG_VALUES_MAX);
    const kept = new Set<string | null>([null, ...dearest.map(([value]) => value)]);
    for (const [id, { from, group, sum }] of [...this.#cells])
      if (!kept.has(group)) {
        this.#cells.delete(id);
        addAmounts(this.#cellOf(from, OTHER_VALUES).sum, sum);
      }
  }

  #row({ from, group, sum }: Cell): UsageRow {
    return {
      ...(from === null ? {} : { from: new Date(from).toISOString() }),
      ...(this.#range.groupBy === null ? {} : { group }),
      ...written(sum),
    };
  }
}

function tooManyRows(): ServiceError {
  const message = `the answer would have over ${ROWS_MAX} rows. Ask for a shorter range or longer intervals`;
  return invalidParam('from', message);
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
