// Folding ledger rows into the lines of statements, by the scheme of fold.ts: each line names the last row that it holds,
// and an update that finds another name there does not happen.
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { type LineKey, lineIdOf, lineKeyOf } from '../statements/months.ts';
import { addAmounts, isVacuous, noAmounts } from './buckets.ts';
import type { LedgerRow, StatementLineDocument } from './documents.ts';
import { AnotherWriter, metDuplicateKey } from './mongo-errors.ts';

type Lines = Collection<StatementLineDocument>;

/** The rows of one line, in the order of `n`. */
interface Share {
  readonly id: string;
  readonly key: LineKey;
  readonly rows: LedgerRow[];
}

/**
 * @param rows consecutive rows in the order of `n`; those that a line holds already are passed over.
 * @throws AnotherWriter when a line moved on between reading and writing: recover, then go on.
 */
export async function foldLines(lines: Lines, rows: readonly LedgerRow[]): Promise<void> {
  const shares = sharesOf(rows);
  if (shares.length === 0) return;
  const found = await lines
    .find({ _id: { $in: shares.map(({ id }) => id) } }, { projection: { n: 1 } })
    .toArray();
  const fences = new Map(found.map(({ _id, n }) => [_id, n]));
  const updates = shares.flatMap((share) => updateOf(share, fences.get(share.id) ?? 0n));
  if (updates.length === 0) return;
  const touched = await lines.bulkWrite(updates, { ordered: false }).catch((error: unknown) => {
    if (metDuplicateKey(error)) throw new AnotherWriter('a line was folded by another writer', error);
    throw error;
  });
  if (touched.matchedCount + touched.upsertedCount !== updates.length)
    throw new AnotherWriter('a line was folded by another writer');
}

/** The line that a row is in; null: it changes no sum, and is in none. */
export function statementLineOf(row: LedgerRow): { id: string; key: LineKey } | null {
  if (isVacuous(row)) return null;
  const key = lineKeyOf(row);
  return { id: `${row.p}/${row.org}/${key.month}/${lineIdOf(key)}`, key };
}

function sharesOf(rows: readonly LedgerRow[]): Share[] {
  const shares = new Map<string, Share>();
  for (const row of rows) {
    const line = statementLineOf(row);
    if (!line) continue;
    const { id, key } = line;
    const share = shares.get(id);
    if (share) share.rows.push(row);
    else shares.set(id, { id, key, rows: [row] });
  }
  return [...shares.values()];
}

function updateOf({ id, key, rows }: Share, fence: bigint): AnyBulkWriteOperation<StatementLineDocument>[] {
  const fresh = rows.filter(({ n }) => n > fence);
  const last = fresh.at(-1);
  if (!last) return [];
  const sum = noAmounts();
  for (const row of fresh) addAmounts(sum, row);
  const rates = [...new Set(fresh.flatMap((row) => row.rates ?? []))];
  const quantities = Object.entries(sum.quantities).map(([name, value]) => [`quantities.${name}`, value]);
  const update = {
    $inc: { calls: sum.calls, cost: sum.cost, ...Object.fromEntries(quantities) },
    $set: { n: last.n },
    $setOnInsert: { p: last.p, org: last.org, line: lineIdOf(key), ...key },
    ...(rates.length > 0 ? { $addToSet: { rates: { $each: rates } } } : {}),
  };
  return [{ updateOne: { filter: { _id: id, n: fence }, update, upsert: true } }];
}
