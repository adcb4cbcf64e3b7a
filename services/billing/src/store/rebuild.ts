// Bringing aggregates up to the ledger: the tail of it after a start, all of it where an audit rebuilds them elsewhere.
import { answered } from './answered.ts';
import { FOLD_ROWS_MAX, foldRows } from './fold.ts';
import { foldLines } from './fold-lines.ts';
import type { Aggregates, Store } from './store.ts';

export interface FoldAbove {
  readonly ledger: Store['ledger'];
  readonly aggregates: Aggregates;
  /** Lines of statements, to be folded too. */
  readonly lines?: Store['statementLines'];
  readonly partition: string;
  /** Rows up to this number are known to be in the aggregates. */
  readonly above: bigint;
  readonly signal?: AbortSignal;
}

/** A number is missing in the ledger: rows were lost or taken out. Nothing is folded past it. */
export class LedgerGap extends Error {}

/**
 * Folds every ledger row above a number; rows that are folded already are passed over.
 * @returns the number of the last row.
 * @throws LedgerGap, AnotherWriter, DatabaseSilent, and the driver's errors
 */
export async function foldAbove(options: FoldAbove): Promise<bigint> {
  const { ledger, aggregates, lines, partition, above, signal } = options;
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
    if (lines) await answered(foldLines(lines, rows));
    folded = last.n;
  }
}

/** Builds aggregates from the ledger alone, into empty collections. */
export function rebuildAggregates(options: Omit<FoldAbove, 'above'>): Promise<bigint> {
  return foldAbove({ ...options, above: 0n });
}
