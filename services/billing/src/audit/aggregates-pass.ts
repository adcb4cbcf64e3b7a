// The live aggregates against those that were built anew. Each names the last ledger row that it holds, so one that
// has moved on is compared exactly: what came after the common number is added to the one built anew, up to that row.
import {
  type Aggregate,
  addTo,
  type Contents,
  contentsOf,
  costOf,
  KINDS,
  type KindName,
  noContents,
  shown,
} from './aggregate-kinds.ts';
import type { AuditRun } from './audit-run.ts';
import { byId, inBatches } from './batches.ts';

/** Aggregates that have moved and are looked at together. */
const MOVED_PER_LOOK_MAX = 500;

export interface AggregateFacts {
  readonly compared: number;
  /** Those that went on while they were compared, and were compared at a later number. */
  readonly moved: number;
}

export async function passAggregates(run: AuditRun, name: KindName): Promise<AggregateFacts> {
  const { collectionOf } = KINDS[name];
  const [live, built] = [collectionOf(run.store), collectionOf(run.work)];
  let compared = 0;
  let moved = 0;
  const settle = async (ids: string[]) => {
    for (let i = 0; i < ids.length; i += MOVED_PER_LOOK_MAX)
      await run.patience.lookAgain(ids.slice(i, i + MOVED_PER_LOOK_MAX), (open, isLast) =>
        compareAgain(run, name, open, isLast),
      );
  };
  for await (const batch of inBatches(live.find({}))) {
    const anew = await byId(built.find({ _id: { $in: batch.map(({ _id }) => _id) } }));
    const unsure = batch.filter((aggregate) => {
      const other = anew.get(aggregate._id);
      const contents = contentsOf(aggregate);
      if (other?.n !== aggregate.n || !isTheSame(name, aggregate, contents, other, contentsOf(other)))
        return true;
      addToSums(run, name, aggregate, costOf(contents));
      return false;
    });
    compared += batch.length;
    moved += unsure.length;
    await settle(unsure.map(({ _id }) => _id));
  }
  for await (const batch of inBatches(built.find({}, { projection: { _id: 1 } }))) {
    const ids = batch.map(({ _id }) => _id);
    const there = await byId(live.find({ _id: { $in: ids } }, { projection: { _id: 1 } }));
    await settle(ids.filter((id) => !there.has(id)));
  }
  return { compared, moved };
}

/** Compares each at the last row that it holds; returns those that are behind, or not there yet. */
async function compareAgain(
  run: AuditRun,
  name: KindName,
  ids: readonly string[],
  isLast: boolean,
): Promise<string[]> {
  const { collectionOf } = KINDS[name];
  const query = { _id: { $in: [...ids] } };
  const live = await byId(collectionOf(run.store).find(query));
  const built = await byId(collectionOf(run.work).find(query));
  const later = await rowsSince(run, name, live);
  return ids.filter((id) => {
    const [aggregate, anew] = [live.get(id), built.get(id)];
    const contents = contentsOf(aggregate);
    if (!aggregate || aggregate.n < (anew?.n ?? 0n)) {
      if (isLast) reportBehind(run, id, aggregate, anew);
      if (isLast && aggregate) addToSums(run, name, aggregate, costOf(contents));
      return true;
    }
    const since = later.get(id) ?? { contents: noContents(), last: null };
    const expected = contentsOf(anew);
    for (const [part, amounts] of since.contents.parts) addTo(expected, part, amounts);
    for (const rate of since.contents.rates) expected.rates.add(rate);
    const last = since.last ?? anew?.n ?? null;
    addToSums(run, name, aggregate, costOf(contents) - costOf(since.contents));
    if (last === null) report(run, 'aggregate_extra', id, aggregate, `it says ${shown(contents)}`);
    else if (last !== aggregate.n || !isTheSame(name, aggregate, contents, anew, expected))
      report(
        run,
        ...(['aggregate_differs', id, aggregate] as const),
        `it says ${shown(contents)} up to row ${aggregate.n}; the ledger ${shown(expected)} up to row ${last}`,
      );
    return false;
  });
}

interface Since {
  readonly contents: Contents;
  last: bigint | null;
}

/** What each of these aggregates has from rows above the common number, up to the last row that it holds. */
async function rowsSince(
  { store, upTo }: AuditRun,
  name: KindName,
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
        for (const { id, part } of KINDS[name].placesOf(row)) {
          const aggregate = live.get(id);
          if (!aggregate || row.n > aggregate.n) continue;
          const since = later.get(id) ?? { contents: noContents(), last: null };
          later.set(id, since);
          addTo(since.contents, part, name === 'lines' ? row : withoutRates(row));
          since.last = row.n;
        }
  }
  return later;
}

function withoutRates({ calls, cost, quantities }: Parameters<typeof addTo>[2]) {
  return { calls, cost, quantities };
}

/** Without another head there is nothing to differ from: its rows came after the common number. */
function isTheSame(
  name: KindName,
  one: Aggregate,
  contents: Contents,
  other: Aggregate | undefined,
  otherContents: Contents,
): boolean {
  const { headOf } = KINDS[name];
  return (!other || headOf(one) === headOf(other)) && shown(contents) === shown(otherContents);
}

function addToSums({ sums }: AuditRun, name: KindName, aggregate: Aggregate, cost: bigint): void {
  KINDS[name].addTo(sums.of(aggregate.org), aggregate, cost);
}

function reportBehind(
  run: AuditRun,
  id: string,
  live: Aggregate | undefined,
  anew: Aggregate | undefined,
): void {
  if (!anew) return; // it was there a moment ago and is gone, as it should be
  if (!live) report(run, 'aggregate_missing', id, anew, `the ledger says ${shown(contentsOf(anew))}`);
  else
    report(
      run,
      ...(['aggregate_differs', id, live] as const),
      `it holds rows up to ${live.n} only; the ledger goes on to ${anew.n}`,
    );
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
