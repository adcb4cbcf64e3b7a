// Folding ledger rows into the aggregates of Usage, by the scheme of fences.ts.
import { type Bucket, bucketsOf } from './buckets.ts';
import type { Amounts, LedgerRow } from './documents.ts';
import { type FenceById, Fences, foldFenced } from './fences.ts';
import { groupsOf, Share, SumsOfGroups, total } from './row-groups.ts';
import type { Aggregates } from './store.ts';

/** Rows folded at a time where many are waiting. */
export const FOLD_ROWS_MAX = 500;

/**
 * @param rows consecutive rows in the order of `n`; those that an aggregate holds already are passed over.
 * @param fences of the writer that wrote the rows; to be dropped when this throws
 * @throws AnotherWriter when an aggregate moved on between reading and writing: recover, then go on.
 */
export async function foldRows(
  aggregates: Aggregates,
  rows: readonly LedgerRow[],
  fences: Pick<Fences, 'hours' | 'days'> = new Fences(),
): Promise<void> {
  const shares = sharesOf(rows);
  await bothOf(
    foldInto(aggregates.hours, shares.hour, fences.hours, amountsByQuarter),
    foldInto(aggregates.days, shares.day, fences.days, amountsOfDay),
  );
}

/** Waits for both also where one throws: nothing is under way any more then. */
export async function bothOf(one: Promise<void>, other: Promise<void>): Promise<void> {
  for (const result of await Promise.allSettled([one, other]))
    if (result.status === 'rejected') throw result.reason;
}

class BucketShare extends Share {
  readonly bucket: Bucket;
  readonly p: string;

  constructor(bucket: Bucket, p: string, sums: SumsOfGroups) {
    super(sums);
    this.bucket = bucket;
    this.p = p;
  }
}

function sharesOf(rows: readonly LedgerRow[]): Record<Bucket['span'], Map<string, BucketShare>> {
  const sums = new SumsOfGroups();
  const shares = { hour: new Map<string, BucketShare>(), day: new Map<string, BucketShare>() };
  for (const group of groupsOf(rows))
    for (const bucket of bucketsOf(group.one)) {
      const ofSpan = shares[bucket.span];
      const share = ofSpan.get(bucket.id) ?? new BucketShare(bucket, group.one.p, sums);
      share.add(group);
      ofSpan.set(bucket.id, share);
    }
  return shares;
}

/** Sums of rows above a fence by path: '' for the document itself, or the path of a part of it. */
type SumsByPath = (share: Share, fence: bigint) => Iterable<readonly [string, Amounts]>;

const amountsOfDay: SumsByPath = (share, fence) => [['', total(share.sumsAbove(fence))]];

const amountsByQuarter: SumsByPath = (share, fence) =>
  [...share.sumsAbove(fence)].map(([quarter, sum]) => [`quarters.${quarter}.`, sum]);

function foldInto(
  into: Aggregates['hours'] | Aggregates['days'],
  shares: ReadonlyMap<string, BucketShare>,
  fences: FenceById,
  sumsByPath: SumsByPath,
): Promise<void> {
  return foldFenced({
    ...{ into: into as never, shares, fences },
    updateOf(share, fence) {
      const { org, family, value, start } = share.bucket;
      return {
        $inc: increments(sumsByPath(share, fence)),
        $setOnInsert: { p: share.p, org, family, value, start },
      };
    },
  });
}

/** What an update adds to the amounts at each path. */
export function increments(sums: Iterable<readonly [string, Amounts]>): Record<string, bigint> {
  const paths: Record<string, bigint> = {};
  for (const [path, { calls, cost, quantities }] of sums) {
    paths[`${path}calls`] = calls;
    paths[`${path}cost`] = cost;
    for (const [name, thousandths] of Object.entries(quantities))
      paths[`${path}quantities.${name}`] = thousandths;
  }
  return paths;
}
