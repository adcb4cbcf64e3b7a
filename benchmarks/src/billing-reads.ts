// `npm run bench:billing-reads`: response times of Usage and Logs over a year of calls, spread over keys, models and
// statuses: 10 million on the MongoDB of MONGODB_URL, otherwise 1 million on a server started here (`-- --calls 100000`
// for less). Rows and aggregates are created by billing's functions and inserted in bulk. On the stand-in, Logs are
// measured only with `-- --logs`: filling them takes minutes.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { LOG_STATUSES, type LogsQuery, type UsageQuery } from '@switchyard/contracts';
import { mongo } from '@switchyard/testing';
import type { Collection, Document, OptionalUnlessRequiredId } from 'mongodb';
import { addAmounts, bucketsOf, noAmounts, quarterOf } from '../../services/billing/src/store/buckets.ts';
import type {
  DayAggregate,
  HourAggregate,
  LedgerRow,
  LogRow,
} from '../../services/billing/src/store/documents.ts';
import { ensureIndexes } from '../../services/billing/src/store/indexes.ts';
import { readLogPage } from '../../services/billing/src/store/log-page.ts';
import { makeMongoClient, openStore, type Store } from '../../services/billing/src/store/store.ts';
import { usageRange } from '../../services/billing/src/usage/range.ts';
import { readUsage } from '../../services/billing/src/usage/read-usage.ts';
import { quantile, timed } from './figures.ts';

const CALLS = { server: 10_000_000, standIn: 1_000_000 } as const;
const BATCH = 5_000;
const ROUNDS = 20;
const SILENCE_MS = 600_000;
const ORG = 'org_bench';
const YEAR_MS = 365 * 86_400_000;
const NOW = Date.UTC(2026, 10, 21, 12);
const MODELS = 12;
const KEYS = 20;

const { values } = parseArgs({ options: { calls: { type: 'string' }, logs: { type: 'boolean' } } });
const server = await mongo();
const client = makeMongoClient(server.url, { silenceMs: SILENCE_MS });
const store = openStore(client.db(server.database));
try {
  await run();
} finally {
  await client.db(server.database).dropDatabase();
  await client.close();
  await server.stop();
}

async function run(): Promise<void> {
  const { version, gitVersion } = await client.db('admin').command({ buildInfo: 1 });
  const explains = await store.logs
    .find({ org: ORG })
    .explain()
    .then(
      () => true,
      () => false,
    );
  const calls = Number(values.calls ?? (explains ? CALLS.server : CALLS.standIn));
  console.log(
    `server: ${explains ? 'MongoDB' : 'the stand-in'} ${version} (${gitVersion}); load ${loadavg()[0]?.toFixed(1)}`,
  );
  await ensureIndexes(store);
  const began = performance.now();
  const withLogs = explains || values.logs === true;
  await seed(store, calls, withLogs);
  console.log(
    `${calls.toLocaleString('en-US')} calls of a year in ${((performance.now() - began) / 1_000).toFixed(0)} s`,
  );
  const year = { from: new Date(NOW - YEAR_MS).toISOString(), to: new Date(NOW).toISOString() };
  const usage: [string, UsageQuery][] = [
    ['a year', year],
    ['a year by day', { ...year, interval: 'day' }],
    ['a year by day in Asia/Kathmandu', { ...year, interval: 'day', tz: 'Asia/Kathmandu' }],
    ['a year by month, grouped by model', { ...year, interval: 'month', group_by: 'model' }],
    [
      'a year by month in Europe/Berlin, by status',
      { ...year, interval: 'month', group_by: 'status', tz: 'Europe/Berlin' },
    ],
    ['a year by day of one key', { ...year, interval: 'day', key: 'key_3' }],
  ];
  for (const [name, query] of usage) await measure(name, () => readUsage(store, ORG, usageRange(query, NOW)));
  if (!withLogs) return;
  const logs: LogsQuery[] = [
    ...[{}, { key: 'key_3' }, { type: 'language' }, { model: 'acme/m3' }, { status: 'error' as const }],
    ...[{ cost_min: 0.0009 }, { cost_max: 0.0000001 }, { request_id: 'req_77' }, { computer: 'cmp_none' }],
    { from: new Date(NOW - YEAR_MS / 2).toISOString(), to: new Date(NOW - YEAR_MS / 3).toISOString() },
  ];
  for (const query of logs)
    await measure(`a page of logs ${JSON.stringify(query)}`, () => readLogPage(store, ORG, query));
}

async function measure(name: string, work: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) await timed(times, work);
  const sorted = times.toSorted((a, b) => a - b);
  const ms = (share: number) => `${quantile(sorted, share).toFixed(1)} ms`.padStart(10);
  console.log(`p50 ${ms(0.5)}  p95 ${ms(0.95)}  ${name}`);
}

async function seed({ ledger, logs, aggregates }: Store, calls: number, withLogs: boolean): Promise<void> {
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
    ...{ _id: `req_${i}`, p: 'p0', n: BigInt(i + 1), kind: 'call', org: ORG, key: `key_${i % KEYS}` },
    at: new Date(NOW - YEAR_MS + Math.floor((i / calls) * YEAR_MS)),
    ...{ type: i % 3 === 0 ? 'embedding' : 'language', model, maker: 'acme', computer: null },
    status: LOG_STATUSES[i % 11 === 0 ? 2 : 0],
    ...{ calls: 1n, cost: BigInt((i * 7_919) % 1_000_000), quantities: { input_tokens: 10_000n } },
  };
}

function logOf({
  _id,
  at,
  org,
  key,
  type,
  model,
  maker,
  computer,
  cost,
  quantities,
  status,
}: LedgerRow): LogRow {
  return {
    ...{ _id, source: 'call.completed', at, kind: 'call', status: status ?? 'ok', http_status: 200 },
    ...{
      error_code: null,
      org,
      key,
      type,
      model,
      maker,
      computer,
      method: 'POST',
      path: '/v1/chat/completions',
      dialect: 'chat',
    },
    ...{
      requested_model: model,
      models: model === null ? [] : [model],
      stream: false,
      cost,
      basis: 'upstream',
    },
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
