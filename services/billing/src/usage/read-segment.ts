// Reads the points of segments from the collections.
import { DAY_MS, HOUR_MS, QUARTER_MS } from '../store/buckets.ts';
import { type Family, QUARTERS, type StoredAmounts } from '../store/documents.ts';
import { negateQuantities } from '../store/quantities.ts';
import type { Store } from '../store/store.ts';
import { CURSOR, readLedger } from './read-ledger.ts';
import type { Segment } from './segments.ts';
import type { Point } from './tally.ts';

/** Maximum number of hours or days in one query. */
const STARTS_MAX = 5_000;

interface ReadSegments {
  readonly store: Store;
  readonly org: string;
  readonly family: Family;
  /** Only this value of the family; undefined: all values. */
  readonly value: string | undefined;
  readonly segments: readonly Segment[];
  readonly signal: AbortSignal | undefined;
}

/**
 * The points of all segments, unordered. Segments of one kind are read with one query.
 * @throws ServiceError `invalid_request` when the answer needs too many ledger rows
 */
export function readSegments(options: ReadSegments): AsyncGenerator<Point>[] {
  const bySource = Map.groupBy(options.segments, ({ source }) => source);
  const [hours, days] = [bySource.get('hours') ?? [], bySource.get('days') ?? []];
  return [
    ...(bySource.get('ledger') ?? []).map((segment) => fromLedger(options, segment)),
    ...(hours.length > 0 ? [fromHours(options, hours)] : []),
    ...(days.length > 0 ? [fromDays(options, days)] : []),
  ];
}

async function* fromLedger(
  { store, org, family, value, signal }: ReadSegments,
  segment: Segment,
): AsyncGenerator<Point> {
  const group = family === 'total' ? null : family;
  const only = group && value !== undefined ? { [group]: value } : {};
  for await (const row of readLedger(store, { org, ...segment, only, field: group, signal }))
    yield { at: row.at.getTime(), group: group ? (row[group] ?? null) : null, amounts: row };
}

async function* fromHours(
  { store, org, family, value, signal }: ReadSegments,
  segments: readonly Segment[],
): AsyncGenerator<Point> {
  const byStart = segmentsByStart(segments, HOUR_MS);
  const hours = store.aggregates.hours.find(
    { org, family, ...only(value), start: oneOf([...byStart.keys()], HOUR_MS) },
    CURSOR,
  );
  for await (const { start, value: group, quarters } of hours) {
    signal?.throwIfAborted();
    for (const { from, to, takenFrom } of byStart.get(start.getTime()) ?? [])
      for (const [i, quarter] of QUARTERS.entries()) {
        const amounts = quarters[quarter];
        const at = start.getTime() + i * QUARTER_MS;
        if (!amounts || at < from || at >= to) continue;
        yield { at, group, amounts };
        if (takenFrom !== undefined) yield { at: takenFrom, group, amounts: negated(amounts) };
      }
  }
}

async function* fromDays(
  { store, org, family, value, signal }: ReadSegments,
  segments: readonly Segment[],
): AsyncGenerator<Point> {
  const byStart = segmentsByStart(segments, DAY_MS);
  const days = store.aggregates.days.find(
    { org, family, ...only(value), start: oneOf([...byStart.keys()], DAY_MS) },
    CURSOR,
  );
  for await (const day of days) {
    signal?.throwIfAborted();
    const start = day.start.getTime();
    for (const { countedAt = start } of byStart.get(start) ?? [])
      yield { at: countedAt, group: day.value, amounts: day };
  }
}

/** Groups segments by the hours or days that they overlap, in order; `length` is in milliseconds. */
function segmentsByStart(segments: readonly Segment[], length: number): Map<number, Segment[]> {
  const byStart = new Map<number, Segment[]>();
  for (const segment of segments)
    for (let start = Math.floor(segment.from / length) * length; start < segment.to; start += length)
      byStart.set(start, [...(byStart.get(start) ?? []), segment]);
  return byStart;
}

/** Names each start when there are few in their range; otherwise queries the whole range. */
function oneOf(starts: readonly number[], length: number): { $in: Date[] } | { $gte: Date; $lte: Date } {
  const [first = 0, last = 0] = [starts.at(0), starts.at(-1)];
  if (starts.length <= STARTS_MAX && (last - first) / length >= 2 * starts.length)
    return { $in: starts.map((start) => new Date(start)) };
  return { $gte: new Date(first), $lte: new Date(last) };
}

function negated({ calls, cost, quantities = {} }: StoredAmounts): StoredAmounts {
  return { calls: -calls, cost: -cost, quantities: negateQuantities(quantities) };
}

function only(value: string | undefined): { value?: string } {
  return value === undefined ? {} : { value };
}
