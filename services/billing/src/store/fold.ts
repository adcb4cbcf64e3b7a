// Folds ledger rows into the aggregates, each row exactly once, with concurrent writers and repeats. Each aggregate
// stores the number of its last row, its fence, and an update applies only if that number is unchanged.
import { LEDGER_KINDS } from '@switchyard/contracts';
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import {
  addAmounts,
  type Bucket,
  bucketsOf,
  HOUR_MS,
  incrementsOf,
  isVacuous,
  noAmounts,
  quarterOf,
} from './buckets.ts';
import { type Amounts, FAMILIES, type LedgerRow, type Quarter } from './documents.ts';
import { AnotherWriter, isDuplicateKeyError } from './mongo-errors.ts';
import { AGGREGATES, type Aggregates } from './store.ts';

/** Maximum number of rows folded at a time. */
export const FOLD_ROWS_MAX = 500;
/** Maximum number of aggregates of one kind whose last row a writer caches. */
const FENCES_MAX = 50_000;

type FenceById = Map<string, bigint>;

/**
 * A cache of the last rows that one writer has folded, to avoid reading them for every batch. Correctness does not
 * depend on it: an update with a stale number does not apply. Discard it when folding throws.
 */
export class Fences {
  readonly hours: FenceById = new Map();
  readonly days: FenceById = new Map();
  readonly lines: FenceById = new Map();
}

/** Rows of the same aggregates: in a busy hour most of a batch is one group, and is summed once. */
interface RowGroup {
  readonly first: LedgerRow;
  /** In the order of `n`. */
  readonly rows: LedgerRow[];
  sums?: ReadonlyMap<Quarter, Amounts>;
}

/** An aggregate, and the groups of rows that it includes. */
interface Share {
  readonly bucket: Bucket;
  readonly groups: RowGroup[];
}

/**
 * @param rows consecutive rows in the order of `n`; rows that an aggregate already includes are skipped
 * @param fences of the writer that wrote the rows; discard them when this throws
 * @throws AnotherWriter when an aggregate changed between reading and writing: recover, then continue
 */
export async function foldRows(
  aggregates: Aggregates,
  rows: readonly LedgerRow[],
  fences = new Fences(),
): Promise<void> {
  const shares = sharesOf(rows);
  // Waits for all even if one throws, so that nothing is running afterwards.
  const folded = await Promise.allSettled(
    AGGREGATES.map((into) => foldInto(aggregates[into] as never, shares[into], fences[into])),
  );
  for (const result of folded) if (result.status === 'rejected') throw result.reason;
}

function sharesOf(rows: readonly LedgerRow[]): Record<keyof Aggregates, Map<string, Share>> {
  const groups = new Map<string, RowGroup>();
  for (const row of rows) {
    if (isVacuous(row)) continue;
    const key = groupKeyOf(row);
    const group = groups.get(key);
    if (group) group.rows.push(row);
    else groups.set(key, { first: row, rows: [row] });
  }
  const shares = { hours: new Map(), days: new Map(), lines: new Map() };
  for (const group of groups.values())
    for (const bucket of bucketsOf(group.first)) {
      const share: Share = shares[bucket.into].get(bucket.id) ?? { bucket, groups: [] };
      share.groups.push(group);
      shares[bucket.into].set(bucket.id, share);
    }
  return shares;
}

/** Rows with the same key are in the same aggregates. JSON keeps names with any characters distinct. */
function groupKeyOf(row: LedgerRow): string {
  const { p, org, month, kind, at } = row;
  const hour = Math.floor(at.getTime() / HOUR_MS);
  const dimensions = FAMILIES.map((family) => (family === 'total' ? null : (row[family] ?? null)));
  return JSON.stringify([p, org, hour, month, LEDGER_KINDS[kind].part, ...dimensions]);
}

interface Summed {
  _id: string;
  n: bigint;
}

async function foldInto(
  documents: Collection<Summed>,
  shares: ReadonlyMap<string, Share>,
  fences: FenceById,
): Promise<void> {
  if (fences.size > FENCES_MAX) fences.clear();
  const unknown = [...shares.keys()].filter((id) => !fences.has(id));
  if (unknown.length > 0)
    for await (const { _id, n } of documents.find({ _id: { $in: unknown } }, { projection: { n: 1 } }))
      fences.set(_id, n);
  const updates: AnyBulkWriteOperation<Summed>[] = [];
  const folded: FenceById = new Map();
  for (const [_id, share] of shares) {
    const n = fences.get(_id) ?? 0n;
    let last = n;
    for (const { rows } of share.groups) {
      const end = rows.at(-1)?.n ?? n;
      if (end > last) last = end;
    }
    if (last === n) continue;
    const update = { ...updateOf(share, n), $set: { n: last } };
    // When the document has another fence, the upsert fails on its `_id` with a duplicate key.
    updates.push({ updateOne: { filter: { _id, n }, update, upsert: true } });
    folded.set(_id, last);
  }
  if (updates.length === 0) return;
  const movedOn = `one of ${documents.collectionName} was folded by another writer`;
  const touched = await documents.bulkWrite(updates, { ordered: false }).catch((error: unknown) => {
    if (isDuplicateKeyError(error)) throw new AnotherWriter(movedOn, error);
    throw error;
  });
  if (touched.matchedCount + touched.upsertedCount !== updates.length) throw new AnotherWriter(movedOn);
  for (const [id, n] of folded) fences.set(id, n);
}

/** The update for the rows above the fence, without `n`. */
function updateOf({ bucket: { into, head }, groups }: Share, fence: bigint) {
  const $inc: Record<string, bigint> = {};
  for (const group of groups)
    for (const [quarter, amounts] of sumsAbove(group, fence))
      for (const [path, amount] of incrementsOf(into, quarter, amounts))
        $inc[path] = ($inc[path] ?? 0n) + amount;
  if (into !== 'lines') return { $inc, $setOnInsert: head };
  const above = groups.flatMap(({ rows }) => rows.filter(({ n }) => n > fence));
  const rates = [...new Set(above.flatMap((row) => row.rates ?? []))];
  return {
    $inc,
    $setOnInsert: head,
    ...(rates.length > 0 ? { $addToSet: { rates: { $each: rates } } } : {}),
  };
}

/** The sums of the rows above a number. Those of the complete group are computed once for all aggregates. */
function sumsAbove(group: RowGroup, fence: bigint): ReadonlyMap<Quarter, Amounts> {
  if (group.first.n <= fence) return sumByQuarter(group.rows.filter(({ n }) => n > fence));
  group.sums ??= sumByQuarter(group.rows);
  return group.sums;
}

function sumByQuarter(rows: readonly LedgerRow[]): Map<Quarter, Amounts> {
  const sums = new Map<Quarter, Amounts>();
  for (const row of rows) {
    const quarter = quarterOf(row.at);
    const sum = sums.get(quarter) ?? noAmounts();
    addAmounts(sum, row);
    sums.set(quarter, sum);
  }
  return sums;
}
