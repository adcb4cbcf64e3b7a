// The live aggregates against those that were built anew. Each names the last ledger row that it holds, so one that
// has moved on is compared exactly: what came after the common number is added to the one built anew, up to that row.
import type { Collection } from 'mongodb';
import { addAmounts, bucketsOf, noAmounts, quarterOf } from '../store/buckets.ts';
import type { AggregateHead, Amounts, DayAggregate, HourAggregate, LedgerRow } from '../store/documents.ts';
import { PARTITION } from '../store/partition.ts';
import { negateQuantities } from '../store/quantities.ts';
import type { AuditRun } from './audit-run.ts';
import { byId, inBatches } from './batches.ts';

/** Aggregates that have moved and are looked at together. */
const MOVED_PER_LOOK_MAX = 500;

type Span = 'hours' | 'days';
type Aggregate = HourAggregate | DayAggregate;
/** Sums by quarter; of a day, the one under ''. */
type Parts = Map<string, Amounts>;

export interface AggregateFacts {
  readonly compared: number;
  /** Those that went on while they were compared, and were compared at a later number. */
  readonly moved: number;
}

export async function passAggregates(run: AuditRun, span: Span): Promise<AggregateFacts> {
  const live = collection(run.store.aggregates, span);
  const built = collection(run.work.aggregates, span);
  let compared = 0;
  let moved = 0;
  const settle = async (ids: string[]) => {
    for (let i = 0; i < ids.length; i += MOVED_PER_LOOK_MAX)
      await run.patience.lookAgain(ids.slice(i, i + MOVED_PER_LOOK_MAX), (open, isLast) =>
        compareAgain(run, span, open, isLast),
      );
  };
  for await (const batch of inBatches(live.find({}))) {
    const anew = await byId(built.find({ _id: { $in: batch.map(({ _id }) => _id) } }));
    const unsure = batch.filter((aggregate) => {
      const other = anew.get(aggregate._id);
      if (other?.n !== aggregate.n || !areEqual(partsOf(aggregate), partsOf(other), aggregate, other))
        return true;
      addToSums(run, span, aggregate, partsOf(aggregate));
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
  span: Span,
  ids: readonly string[],
  isLast: boolean,
): Promise<string[]> {
  const query = { _id: { $in: [...ids] } };
  const live = await byId(collection(run.store.aggregates, span).find(query));
  const built = await byId(collection(run.work.aggregates, span).find(query));
  const later = await rowsSince(run, span, live);
  return ids.filter((id) => {
    const [aggregate, anew] = [live.get(id), built.get(id)];
    if (!aggregate || aggregate.n < (anew?.n ?? 0n)) {
      if (isLast) reportBehind(run, id, aggregate, anew);
      if (isLast && aggregate) addToSums(run, span, aggregate, partsOf(aggregate));
      return true;
    }
    const since = later.get(id) ?? { parts: new Map(), last: null };
    const expected = partsOf(anew);
    addParts(expected, since.parts);
    const last = since.last ?? anew?.n ?? null;
    addToSums(run, span, aggregate, minus(partsOf(aggregate), since.parts));
    if (last === null) report(run, 'aggregate_extra', id, aggregate, `it says ${shown(partsOf(aggregate))}`);
    else if (last !== aggregate.n || !areEqual(partsOf(aggregate), expected, aggregate, anew))
      report(
        run,
        ...(['aggregate_differs', id, aggregate] as const),
        `it says ${shown(partsOf(aggregate))} up to row ${aggregate.n}; the ledger ${shown(expected)} up to row ${last}`,
      );
    return false;
  });
}

interface Since {
  readonly parts: Parts;
  last: bigint | null;
}

/** What each of these aggregates has from rows above the common number, up to the last row that it holds. */
async function rowsSince(
  { store, upTo }: AuditRun,
  span: Span,
  live: ReadonlyMap<string, Aggregate>,
): Promise<Map<string, Since>> {
  const later = new Map<string, Since>();
  let last = upTo;
  for (const { n } of live.values()) if (n > last) last = n;
  if (last === upTo) return later;
  const rows = store.ledger.find({ p: PARTITION, n: { $gt: upTo, $lte: last } }).sort({ n: 1 });
  for await (const batch of inBatches(rows))
    for (const row of batch)
      for (const bucket of bucketsOf(row)) {
        const aggregate = `${bucket.span}s` === span ? live.get(bucket.id) : undefined;
        if (!aggregate || row.n > aggregate.n) continue;
        const since = later.get(bucket.id) ?? { parts: new Map(), last: null };
        later.set(bucket.id, since);
        addPart(since.parts, partOf(span, row), row);
        since.last = row.n;
      }
  return later;
}

function partOf(span: Span, row: LedgerRow): string {
  return span === 'days' ? '' : quarterOf(row.at);
}

/** The driver's types cannot see through a choice of collections; what is used of both is the same. */
function collection(aggregates: AuditRun['store']['aggregates'], span: Span): Collection<Aggregate> {
  return aggregates[span] as unknown as Collection<Aggregate>;
}

/** What nets to nothing is as good as absent. */
function partsOf(aggregate: Aggregate | undefined): Parts {
  const parts: Parts = new Map();
  if (!aggregate) return parts;
  const stored = 'quarters' in aggregate ? Object.entries(aggregate.quarters) : [['', aggregate] as const];
  for (const [name, { calls, cost, quantities = {} }] of stored)
    addPart(parts, name, { calls, cost, quantities });
  return parts;
}

function addPart(parts: Parts, name: string, more: Amounts): void {
  const sum = parts.get(name) ?? noAmounts();
  addAmounts(sum, more);
  parts.set(name, sum);
}

function addParts(into: Parts, more: Parts): void {
  for (const [name, amounts] of more) addPart(into, name, amounts);
}

function minus(parts: Parts, less: Parts): Parts {
  for (const [name, { calls, cost, quantities }] of less)
    addPart(parts, name, { calls: -calls, cost: -cost, quantities: negateQuantities(quantities) });
  return parts;
}

function areEqual(
  one: Parts,
  other: Parts,
  head: AggregateHead,
  otherHead: AggregateHead | undefined,
): boolean {
  const sameHead =
    !otherHead ||
    (head.org === otherHead.org &&
      head.family === otherHead.family &&
      head.value === otherHead.value &&
      head.start.getTime() === otherHead.start.getTime());
  return sameHead && shown(one) === shown(other);
}

/** In words, and the same words for the same amounts. */
function shown(parts: Parts): string {
  const words: string[] = [];
  for (const [name, { calls, cost, quantities }] of [...parts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const counted = Object.entries(quantities)
      .filter(([, thousandths]) => thousandths !== 0n)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([unit, thousandths]) => `, ${thousandths}/1000 ${unit}`);
    if (calls === 0n && cost === 0n && counted.length === 0) continue;
    words.push(
      `${name === '' ? '' : `quarter ${name}: `}${calls} calls, ${cost} nano-dollars${counted.join('')}`,
    );
  }
  return words.length === 0 ? 'nothing' : words.join('; ');
}

function addToSums({ sums }: AuditRun, span: Span, { org, family }: AggregateHead, parts: Parts): void {
  for (const { cost } of parts.values()) sums.of(org)[span][family] += cost;
}

function reportBehind(
  run: AuditRun,
  id: string,
  live: Aggregate | undefined,
  anew: Aggregate | undefined,
): void {
  if (!anew) return; // it was there a moment ago and is gone, as it should be
  if (!live) report(run, 'aggregate_missing', id, anew, `the ledger says ${shown(partsOf(anew))}`);
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
  { org }: AggregateHead,
  detail: string,
): void {
  findings.add({ kind, org, subject, detail });
}
