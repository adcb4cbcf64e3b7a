// Compares the live aggregates with rebuilt ones. Each aggregate names the last ledger row it includes. If that row is
// newer than the common number, the rows between are added to the rebuilt aggregate first, so the comparison is exact.
import type { Collection } from 'mongodb';
import type { Aggregates } from '../store/store.ts';
import {
  type Aggregate,
  addRow,
  type Contents,
  contentsOf,
  costOf,
  idsOf,
  noContents,
  shown,
} from './aggregate-contents.ts';
import type { AuditRun } from './audit-run.ts';
import { inBatches, readById } from './batches.ts';

/** Aggregates that are compared in one batch at a later number. */
const MOVED_PER_CHECK_MAX = 500;

type Kind = keyof Aggregates;

export interface AggregateFacts {
  readonly compared: number;
  /** Aggregates that were updated during the audit, and were compared at a later number. */
  readonly moved: number;
}

/** The driver's types cannot express a union of collections. The fields used here are the same in all three. */
function collectionsOf({ store, work }: AuditRun, kind: Kind): Collection<Aggregate>[] {
  return [store.aggregates[kind], work.aggregates[kind]] as unknown as Collection<Aggregate>[];
}

export async function passAggregates(run: AuditRun, kind: Kind): Promise<AggregateFacts> {
  const [live, rebuilt] = collectionsOf(run, kind) as [Collection<Aggregate>, Collection<Aggregate>];
  let compared = 0;
  let moved = 0;
  const compareLater = async (ids: string[]) => {
    for (let i = 0; i < ids.length; i += MOVED_PER_CHECK_MAX)
      await run.rechecks.recheck(ids.slice(i, i + MOVED_PER_CHECK_MAX), (open, isLast) =>
        compareAtOwnRow(run, kind, open, isLast),
      );
  };
  for await (const batch of inBatches(live.find({}))) {
    const others = await readById(rebuilt.find({ _id: { $in: batch.map(({ _id }) => _id) } }));
    const unsure = batch.filter((aggregate) => {
      const other = others.get(aggregate._id);
      const contents = contentsOf(aggregate);
      if (other?.n !== aggregate.n || !areEqual(contents, contentsOf(other))) return true;
      addToSums(run, kind, aggregate, costOf(contents));
      return false;
    });
    compared += batch.length;
    moved += unsure.length;
    await compareLater(unsure.map(({ _id }) => _id));
  }
  for await (const batch of inBatches(rebuilt.find({}, { projection: { _id: 1 } }))) {
    const ids = batch.map(({ _id }) => _id);
    const there = await readById(live.find({ _id: { $in: ids } }, { projection: { _id: 1 } }));
    await compareLater(ids.filter((id) => !there.has(id)));
  }
  return { compared, moved };
}

/** Compares each aggregate at its own last row. Returns those that are behind or missing so far. */
async function compareAtOwnRow(
  run: AuditRun,
  kind: Kind,
  ids: readonly string[],
  isLast: boolean,
): Promise<string[]> {
  const query = { _id: { $in: [...ids] } };
  const [live, rebuilt] = await Promise.all(
    collectionsOf(run, kind).map((collection) => readById(collection.find(query))),
  );
  if (!live || !rebuilt) return [];
  const later = await rowsSince(run, kind, live);
  return ids.filter((id) => {
    const [aggregate, other] = [live.get(id), rebuilt.get(id)];
    const contents = contentsOf(aggregate);
    if (!aggregate || aggregate.n < (other?.n ?? 0n)) {
      if (isLast) reportBehind(run, id, aggregate, other);
      if (isLast && aggregate) addToSums(run, kind, aggregate, costOf(contents));
      return true;
    }
    const since = later.get(id);
    const expected = plus(contentsOf(other), since?.contents);
    const last = since?.last ?? other?.n;
    addToSums(run, kind, aggregate, costOf(contents) - costOf(since?.contents ?? noContents()));
    const says = `it says ${shown(contents)}`;
    if (last === undefined) report(run, 'aggregate_extra', id, aggregate, says);
    else if (last !== aggregate.n || !areEqual(contents, expected)) {
      const detail = `${says} up to row ${aggregate.n}; the ledger ${shown(expected)} up to row ${last}`;
      report(run, 'aggregate_differs', id, aggregate, detail);
    }
    return false;
  });
}

interface Since {
  readonly contents: Contents;
  last: bigint;
}

/** What each aggregate includes of the rows above the common number, up to its own last row. */
async function rowsSince(
  { store, upTo }: AuditRun,
  kind: Kind,
  live: ReadonlyMap<string, Aggregate>,
): Promise<Map<string, Since>> {
  const later = new Map<string, Since>();
  for (const [partition, common] of upTo) {
    let last = common;
    for (const { p, n } of live.values()) if (p === partition && n > last) last = n;
    if (last === common) continue;
    const rows = store.ledger.find({ p: partition, n: { $gt: common, $lte: last } }).sort({ n: 1 });
    for await (const batch of inBatches(rows))
      for (const row of batch)
        for (const id of idsOf(kind, row)) {
          const aggregate = live.get(id);
          if (!aggregate || row.n > aggregate.n) continue;
          const since = later.get(id) ?? { contents: noContents(), last: row.n };
          addRow(since.contents, kind, row);
          since.last = row.n;
          later.set(id, since);
        }
  }
  return later;
}

function plus(contents: Contents, more = noContents()): Contents {
  const { sums, rates, head } = contents;
  for (const [path, sum] of more.sums) sums.set(path, (sums.get(path) ?? 0n) + sum);
  return { sums, rates: new Set([...rates, ...more.rates]), head };
}

/** An aggregate that was not rebuilt has no head to compare: all of its rows are above the common number. */
function areEqual(contents: Contents, expected: Contents): boolean {
  return (expected.head === '' || contents.head === expected.head) && shown(contents) === shown(expected);
}

/** Adds the cost of an aggregate to the sums of its org. */
function addToSums({ sums }: AuditRun, kind: Kind, aggregate: Aggregate, cost: bigint): void {
  const ofOrg = sums.of(aggregate.org);
  if ('line' in aggregate) ofOrg.statements += cost;
  else if (kind !== 'lines') ofOrg[kind][aggregate.family] += cost;
}

function reportBehind(run: AuditRun, id: string, live?: Aggregate, rebuilt?: Aggregate): void {
  if (!rebuilt) return; // the aggregate existed a moment ago and was removed correctly
  if (!live) report(run, 'aggregate_missing', id, rebuilt, `the ledger says ${shown(contentsOf(rebuilt))}`);
  else {
    const detail = `it holds rows up to ${live.n} only; the ledger goes on to ${rebuilt.n}`;
    report(run, 'aggregate_differs', id, live, detail);
  }
}

function report(
  { findings }: AuditRun,
  kind: 'aggregate_missing' | 'aggregate_extra' | 'aggregate_differs',
  subject: string,
  { org }: Aggregate,
  detail: string,
): void {
  findings.add({ kind, org, subject, detail });
}
