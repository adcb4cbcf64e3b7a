// A year of calls of one org, as billing books them: spread evenly over time, keys, models and statuses.
import { LOG_STATUSES } from '@switchyard/contracts';
import type { Collection, Document, OptionalUnlessRequiredId } from 'mongodb';
import { addAmounts, bucketsOf, noAmounts, quarterOf } from '../../services/billing/src/store/buckets.ts';
import type {
  DayAggregate,
  HourAggregate,
  LedgerRow,
  LogRow,
} from '../../services/billing/src/store/documents.ts';
import type { Store } from '../../services/billing/src/store/store.ts';

export const ORG = 'org_bench';
export const YEAR_MS = 365 * 86_400_000;
/** The year ends here. */
export const NOW = Date.UTC(2026, 10, 21, 12);
const BATCH = 5_000;
const MODELS = 12;
const KEYS = 20;
/** No partition of billing has this name, so rows of a running billing keep their numbers. */
const PARTITION = 'bench';

/**
 * Inserts calls of a year into an empty ledger: their rows, the hours and days that billing adds them to, and the rows
 * of the logs if wanted.
 */
export async function fillYear(
  { ledger, logs, aggregates }: Store,
  calls: number,
  withLogs: boolean,
): Promise<void> {
  const hours = new Map<string, HourAggregate>();
  const days = new Map<string, DayAggregate>();
  for (let first = 0; first < calls; first += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, calls - first) }, (_, i) => rowOf(first + i, calls));
    await ledger.insertMany(rows, { ordered: false });
    if (withLogs) await logs.insertMany(rows.map(logOf), { ordered: false });
    for (const row of rows) fold(row, hours, days);
  }
  await insertAll(aggregates.hours, [...hours.values()]);
  await insertAll(aggregates.days, [...days.values()]);
}

async function insertAll<T extends Document>(into: Collection<T>, all: readonly T[]): Promise<void> {
  for (let first = 0; first < all.length; first += BATCH)
    await into.insertMany(all.slice(first, first + BATCH) as OptionalUnlessRequiredId<T>[], {
      ordered: false,
    });
}

/** The same for the same number: spread evenly over the year, and over everything else by the number. */
function rowOf(i: number, calls: number): LedgerRow {
  const model = `acme/m${i % MODELS}`;
  return {
    ...{ _id: `req_${i}`, p: PARTITION, n: BigInt(i + 1), kind: 'call', org: ORG, key: `key_${i % KEYS}` },
    at: new Date(NOW - YEAR_MS + Math.floor((i / calls) * YEAR_MS)),
    ...{ type: i % 3 === 0 ? 'embedding' : 'language', model, maker: 'acme', computer: null },
    status: LOG_STATUSES[i % 11 === 0 ? 2 : 0],
    ...{ month: '', line: '' }, // no statement is read
    ...{ calls: 1n, cost: BigInt((i * 7_919) % 1_000_000), quantities: { input_tokens: 10_000n } },
  };
}

function logOf(row: LedgerRow): LogRow {
  const { _id, at, org, key, type, model, maker, computer, cost, quantities, status } = row;
  return {
    ...{ _id, source: 'call.completed', at, kind: 'call', status: status ?? 'ok', http_status: 200 },
    ...{ error_code: null, org, key, type, model, maker, computer, method: 'POST' },
    ...{ path: '/v1/chat/completions', dialect: 'chat', requested_model: model },
    ...{ models: model === null ? [] : [model], stream: false, cost, basis: 'upstream' },
    ...{ quantities, latency_ms: 12.5, first_byte_ms: null, attempts: [] },
  };
}

function fold(row: LedgerRow, hours: Map<string, HourAggregate>, days: Map<string, DayAggregate>): void {
  for (const { into, id, head } of bucketsOf(row)) {
    if (!('family' in head)) continue; // a line of a statement
    if (into === 'days') {
      const day = days.get(id) ?? { _id: id, ...head, n: row.n, ...noAmounts() };
      addAmounts(day as ReturnType<typeof noAmounts>, row);
      days.set(id, day);
      continue;
    }
    const hour = hours.get(id) ?? { _id: id, ...head, n: row.n, quarters: {} };
    const quarter = hour.quarters[quarterOf(row.at)] ?? noAmounts();
    addAmounts(quarter as ReturnType<typeof noAmounts>, row);
    hour.quarters[quarterOf(row.at)] = quarter;
    hours.set(id, hour);
  }
}
