// Brings aggregates up to date with the ledger: its tail after a start, or all of it when an audit rebuilds them.
import { answered } from './answered.ts';
import { FOLD_ROWS_MAX, foldRows } from './fold.ts';
import type { Aggregates, Store } from './store.ts';

interface FoldAbove {
  readonly ledger: Store['ledger'];
  readonly aggregates: Aggregates;
  readonly partition: string;
  /** Rows up to this number are known to be in the aggregates. */
  readonly above: bigint;
  readonly signal?: AbortSignal;
}

/** The ledger lacks a number: rows were lost or removed. Nothing is folded beyond the gap. */
class LedgerGap extends Error {}

/**
 * Folds every ledger row above a number; rows that are already folded are skipped.
 * @returns the number of the last row
 * @throws LedgerGap, AnotherWriter, DatabaseSilent, and the driver's errors
 */
export async function foldAbove(options: FoldAbove): Promise<bigint> {
  const { ledger, aggregates, partition, above, signal } = options;
  if (above > 0n && !(await answered(ledger.findOne({ p: partition, n: above }))))
    throw new LedgerGap(`row ${above} of ${partition} was folded once and is missing now`);
  let folded = above;
  for (;;) {
    signal?.throwIfAborted();
    const next = ledger
      .find({ p: partition, n: { $gt: folded } })
      .sort({ n: 1 })
      .limit(FOLD_ROWS_MAX);
    const rows = await answered(next.toArray());
    for (const [i, row] of rows.entries())
      if (row.n !== folded + BigInt(i) + 1n)
        throw new LedgerGap(
          `row ${folded + BigInt(i) + 1n} of ${partition} is missing; the next is ${row.n}`,
        );
    const last = rows.at(-1);
    if (!last) return folded;
    await answered(foldRows(aggregates, rows));
    folded = last.n;
  }
}
