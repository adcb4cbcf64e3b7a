// Folding ledger rows into the aggregates, each row once into each, whoever else is at it and however often it is
// repeated. Each aggregate names the last row that it holds; an update that finds another name there does not happen.
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { addAmounts, type Bucket, bucketsOf, noAmounts, quarterOf } from './buckets.ts';
import type { AggregateHead, Amounts, LedgerRow } from './documents.ts';
import { AnotherWriter, metDuplicateKey } from './mongo-errors.ts';
import type { Aggregates } from './store.ts';

/** Rows folded at a time where many are waiting. */
export const FOLD_ROWS_MAX = 500;

/** Aggregates whose last row a writer remembers at the most. */
const FENCES_MAX = 50_000;

/**
 * The last row that each aggregate holds, as one writer has left it, so that it need not be read again for every batch.
 * Nothing rests on it: an update whose fence is not the one that stands there does not happen.
 */
export class Fences {
  readonly hours = new Map<string, bigint>();
  readonly days = new Map<string, bigint>();
}

/**
 * @param rows consecutive rows in the order of `n`; those that an aggregate holds already are passed over.
 * @param fences of the writer that wrote the rows; to be dropped when this throws
 * @throws AnotherWriter when an aggregate moved on between reading and writing: recover, then go on.
 */
export async function foldRows(
  aggregates: Aggregates,
  rows: readonly LedgerRow[],
  fences = new Fences(),
): Promise<void> {
  const shares = sharesOf(rows);
  const both = await Promise.allSettled([
    foldInto(aggregates.hours, shares.hour, amountsByQuarter, fences.hours),
    foldInto(aggregates.days, shares.day, amountsOfDay, fences.days),
  ]);
  for (const one of both) if (one.status === 'rejected') throw one.reason;
}

/** The rows of one aggregate. */
interface Share {
  readonly bucket: Bucket;
  readonly rows: LedgerRow[];
}

function sharesOf(rows: readonly LedgerRow[]): Record<Bucket['span'], Map<string, Share>> {
  const shares = { hour: new Map<string, Share>(), day: new Map<string, Share>() };
  for (const row of rows)
    for (const bucket of bucketsOf(row)) {
      const share = shares[bucket.span].get(bucket.id);
      if (share) share.rows.push(row);
      else shares[bucket.span].set(bucket.id, { bucket, rows: [row] });
    }
  return shares;
}

/** Sums by path: '' for the document itself, or the path of a part of it. */
type SumByPath = (rows: readonly LedgerRow[]) => Map<string, Amounts>;

const amountsOfDay: SumByPath = (rows) => {
  const sum = noAmounts();
  for (const row of rows) addAmounts(sum, row);
  return new Map([['', sum]]);
};

const amountsByQuarter: SumByPath = (rows) => {
  const sums = new Map<string, Amounts>();
  for (const row of rows) {
    const path = `quarters.${quarterOf(row.at)}.`;
    const sum = sums.get(path) ?? noAmounts();
    addAmounts(sum, row);
    sums.set(path, sum);
  }
  return sums;
};

async function foldInto<A extends AggregateHead>(
  collection: Collection<A>,
  shares: ReadonlyMap<string, Share>,
  sumByPath: SumByPath,
  fences: Map<string, bigint>,
): Promise<void> {
  if (shares.size === 0) return;
  // The driver's types cannot see through a generic document; the parts used here are the same in both.
  const aggregates = collection as unknown as Collection<AggregateHead>;
  if (fences.size > FENCES_MAX) fences.clear();
  await readFences(aggregates, [...shares.keys()], fences);
  const updates: AnyBulkWriteOperation<AggregateHead>[] = [];
  const folded = new Map<string, bigint>();
  for (const { bucket, rows } of shares.values()) {
    const fence = fences.get(bucket.id) ?? 0n;
    const fresh = rows.filter(({ n }) => n > fence);
    const last = fresh.at(-1);
    if (!last) continue;
    updates.push(updateOf(bucket, fence, last, increments(sumByPath(fresh))));
    folded.set(bucket.id, last.n);
  }
  if (updates.length === 0) return;
  const touched = await aggregates.bulkWrite(updates, { ordered: false }).catch((error: unknown) => {
    if (metDuplicateKey(error)) throw new AnotherWriter('an aggregate was folded by another writer', error);
    throw error;
  });
  if (touched.matchedCount + touched.upsertedCount !== updates.length)
    throw new AnotherWriter('an aggregate was folded by another writer');
  for (const [id, n] of folded) fences.set(id, n);
}

/** Of those that are not known yet. */
async function readFences(
  aggregates: Collection<AggregateHead>,
  ids: readonly string[],
  fences: Map<string, bigint>,
): Promise<void> {
  const unknown = ids.filter((id) => !fences.has(id));
  if (unknown.length === 0) return;
  const found = await aggregates.find({ _id: { $in: unknown } }, { projection: { n: 1 } }).toArray();
  for (const { _id, n } of found) fences.set(_id, n);
}

function updateOf(
  { id: _id, org, family, value, start }: Bucket,
  fence: bigint,
  last: LedgerRow,
  $inc: Record<string, bigint>,
): AnyBulkWriteOperation<AggregateHead> {
  return {
    updateOne: {
      // Where the aggregate is there with another fence, the upsert meets its own `_id`: a duplicate key.
      filter: { _id, n: fence },
      update: { $inc, $set: { n: last.n }, $setOnInsert: { p: last.p, org, family, value, start } },
      upsert: true,
    },
  };
}

function increments(sums: ReadonlyMap<string, Amounts>): Record<string, bigint> {
  const paths: Record<string, bigint> = {};
  for (const [path, { calls, cost, quantities }] of sums) {
    paths[`${path}calls`] = calls;
    paths[`${path}cost`] = cost;
    for (const [name, thousandths] of Object.entries(quantities))
      paths[`${path}quantities.${name}`] = thousandths;
  }
  return paths;
}
