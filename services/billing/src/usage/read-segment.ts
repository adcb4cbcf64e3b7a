// Reading the points of one segment from where it is kept.
import { ServiceError } from '@switchyard/contracts';
import { HOUR_MS, QUARTER_MS } from '../store/buckets.ts';
import { type Family, QUARTERS } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import type { Segment } from './segments.ts';
import type { Point } from './tally.ts';

/** Ledger rows that one answer is counted from. */
const LEDGER_ROWS_MAX = 1_000_000;
const CURSOR = { batchSize: 2_000 } as const;

export interface ReadSegment {
  readonly store: Store;
  readonly org: string;
  readonly family: Family;
  /** Of this value of the family alone; undefined: of all. */
  readonly value: string | undefined;
  readonly segment: Segment;
}

/**
 * The points of a segment, in no order.
 * @throws ServiceError `invalid_request` when it would be counted from too many ledger rows.
 */
export function readSegment(options: ReadSegment): AsyncGenerator<Point> {
  switch (options.segment.source) {
    case 'ledger':
      return fromLedger(options);
    case 'hours':
      return fromHours(options);
    case 'days':
      return fromDays(options);
  }
}

async function* fromLedger({ store, org, family, value, segment }: ReadSegment): AsyncGenerator<Point> {
  const group = family === 'total' ? null : family;
  const fields = { at: 1, calls: 1, cost: 1, quantities: 1, ...(group ? { [group]: 1 } : {}) };
  const rows = store.ledger.find(
    {
      org,
      at: { $gte: new Date(segment.from), $lt: new Date(segment.to) },
      ...(group && value !== undefined ? { [group]: value } : {}),
    },
    { projection: fields, ...CURSOR },
  );
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (count > LEDGER_ROWS_MAX)
      throw new ServiceError(
        'invalid_request',
        'from: there is too much in this range to count it so finely',
        {
          param: 'from',
        },
      );
    yield { at: row.at.getTime(), group: group ? (row[group] ?? null) : null, amounts: row };
  }
}

async function* fromHours({ store, org, family, value, segment }: ReadSegment): AsyncGenerator<Point> {
  const firstHour = Math.floor(segment.from / HOUR_MS) * HOUR_MS;
  const hours = store.aggregates.hours.find(
    { org, family, ...only(value), start: { $gte: new Date(firstHour), $lt: new Date(segment.to) } },
    CURSOR,
  );
  for await (const { start, value: group, quarters } of hours)
    for (const [i, quarter] of QUARTERS.entries()) {
      const amounts = quarters[quarter];
      const at = start.getTime() + i * QUARTER_MS;
      if (amounts && at >= segment.from && at < segment.to) yield { at, group, amounts };
    }
}

async function* fromDays({ store, org, family, value, segment }: ReadSegment): AsyncGenerator<Point> {
  const days = store.aggregates.days.find(
    { org, family, ...only(value), start: { $gte: new Date(segment.from), $lt: new Date(segment.to) } },
    CURSOR,
  );
  for await (const day of days) yield { at: day.start.getTime(), group: day.value, amounts: day };
}

function only(value: string | undefined): { value?: string } {
  return value === undefined ? {} : { value };
}
