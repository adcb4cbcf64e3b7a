// Folding ledger rows into the lines of statements, by the scheme of fences.ts.
import { type LineKey, lineIdOf, lineKeyOf } from '../statements/months.ts';
import { isVacuous } from './buckets.ts';
import type { LedgerRow } from './documents.ts';
import { Fences, foldFenced } from './fences.ts';
import { increments } from './fold.ts';
import { groupsOf, Share, SumsOfGroups, total } from './row-groups.ts';
import type { Store } from './store.ts';

/**
 * @param rows consecutive rows in the order of `n`; those that a line holds already are passed over.
 * @param fences of the writer that wrote the rows; to be dropped when this throws
 * @throws AnotherWriter when a line moved on between reading and writing: recover, then go on.
 */
export function foldLines(
  lines: Store['statementLines'],
  rows: readonly LedgerRow[],
  fences: Pick<Fences, 'lines'> = new Fences(),
): Promise<void> {
  return foldFenced({
    ...{ into: lines as never, shares: sharesOf(rows), fences: fences.lines },
    updateOf(share, fence) {
      const { p, org, key } = share;
      const rates = [...new Set(share.rowsAbove(fence).flatMap((row) => row.rates ?? []))];
      return {
        $inc: increments([['', total(share.sumsAbove(fence))]]),
        $setOnInsert: { p, org, line: lineIdOf(key), ...key },
        ...(rates.length > 0 ? { $addToSet: { rates: { $each: rates } } } : {}),
      };
    },
  });
}

/** The line that a row is in; null: it changes no sum, and is in none. */
export function statementLineOf(row: LedgerRow): { id: string; key: LineKey } | null {
  if (isVacuous(row)) return null;
  const key = lineKeyOf(row);
  return { id: `${row.p}/${row.org}/${key.month}/${lineIdOf(key)}`, key };
}

class LineShare extends Share {
  readonly p: string;
  readonly org: string;
  readonly key: LineKey;

  constructor({ p, org }: LedgerRow, key: LineKey, sums: SumsOfGroups) {
    super(sums);
    this.p = p;
    this.org = org;
    this.key = key;
  }
}

function sharesOf(rows: readonly LedgerRow[]): Map<string, LineShare> {
  const sums = new SumsOfGroups();
  const shares = new Map<string, LineShare>();
  for (const group of groupsOf(rows)) {
    const line = statementLineOf(group.one);
    if (!line) continue;
    const share = shares.get(line.id) ?? new LineShare(group.one, line.key, sums);
    share.add(group);
    shares.set(line.id, share);
  }
  return shares;
}
