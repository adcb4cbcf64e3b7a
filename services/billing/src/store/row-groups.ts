// Rows that are in the same aggregates and in the same line, summed once for all of them: in a busy hour that is most of
// a batch. Pure.
import { addAmounts, HOUR_MS, isVacuous, noAmounts, quarterOf } from './buckets.ts';
import { type Amounts, FAMILIES, type LedgerRow, type Quarter } from './documents.ts';

type Sums = ReadonlyMap<Quarter, Amounts>;

export interface RowGroup {
  /** Stands for all of them, where it is not about amounts, numbers and times within the hour. */
  readonly one: LedgerRow;
  /** In the order of `n`. */
  readonly rows: LedgerRow[];
}

/** Rows that change no sum are in none. */
export function groupsOf(rows: readonly LedgerRow[]): RowGroup[] {
  const groups = new Map<string, RowGroup>();
  for (const row of rows) {
    if (isVacuous(row)) continue;
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.rows.push(row);
    else groups.set(key, { one: row, rows: [row] });
  }
  return [...groups.values()];
}

/** As JSON: whatever a name holds, it is not taken for two. */
function keyOf(row: LedgerRow): string {
  const { p, org, month, kind, at } = row;
  const hour = Math.floor(at.getTime() / HOUR_MS);
  const dimensions = FAMILIES.map((family) => (family === 'total' ? null : (row[family] ?? null)));
  return JSON.stringify([p, org, hour, month, kind === 'refund', ...dimensions]);
}

/** Rows that go into one aggregate or line together. */
export class Share {
  readonly #groups: RowGroup[] = [];
  readonly #sums: SumsOfGroups;

  constructor(sums: SumsOfGroups) {
    this.#sums = sums;
  }

  add(group: RowGroup): void {
    this.#groups.push(group);
  }

  /** The last row above a number; undefined: none is. */
  lastAbove(n: bigint): LedgerRow | undefined {
    let last: LedgerRow | undefined;
    for (const { rows } of this.#groups) {
      const its = rows.at(-1);
      if (its && its.n > (last?.n ?? n)) last = its;
    }
    return last;
  }

  /** What the rows above a number come to in each quarter of an hour. */
  sumsAbove(n: bigint): Sums {
    const sums = new Map<Quarter, Amounts>();
    for (const group of this.#groups)
      for (const [quarter, amounts] of this.#sums.of(group, n)) {
        const sum = sums.get(quarter) ?? noAmounts();
        addAmounts(sum, amounts);
        sums.set(quarter, sum);
      }
    return sums;
  }

  rowsAbove(n: bigint): LedgerRow[] {
    return this.#groups.flatMap(({ rows }) => rows.filter((row) => row.n > n));
  }
}

/** Each group summed once, for all the aggregates that take the whole of it. */
export class SumsOfGroups {
  readonly #whole = new Map<RowGroup, Sums>();

  /** Of the rows above a number. */
  of(group: RowGroup, above: bigint): Sums {
    if (group.one.n <= above) return sumByQuarter(group.rows.filter((row) => row.n > above));
    let sums = this.#whole.get(group);
    if (!sums) {
      sums = sumByQuarter(group.rows);
      this.#whole.set(group, sums);
    }
    return sums;
  }
}

function sumByQuarter(rows: readonly LedgerRow[]): Sums {
  const sums = new Map<Quarter, Amounts>();
  for (const row of rows) {
    const quarter = quarterOf(row.at);
    let sum = sums.get(quarter);
    if (!sum) {
      sum = noAmounts();
      sums.set(quarter, sum);
    }
    addAmounts(sum, row);
  }
  return sums;
}

/** The sum over all quarters. */
export function total(sums: Sums): Amounts {
  const all = noAmounts();
  for (const amounts of sums.values()) addAmounts(all, amounts);
  return all;
}
