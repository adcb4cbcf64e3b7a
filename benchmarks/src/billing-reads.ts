// `npm run bench:billing-reads`: response times of Usage and Logs over a year of calls, spread over keys, models and
// statuses: 10 million on the MongoDB of MONGODB_URL, otherwise 1 million on a server started here (`-- --calls 100000`
// for less). Rows and aggregates are created by billing's functions and inserted in bulk. On the stand-in, Logs are
// measured only with `-- --logs`: filling them takes minutes.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { LogsQuery, UsageQuery } from '@switchyard/contracts';
import { mongo } from '@switchyard/testing';
import { ensureIndexes } from '../../services/billing/src/store/indexes.ts';
import { readLogPage } from '../../services/billing/src/store/log-page.ts';
import { makeMongoClient, openStore } from '../../services/billing/src/store/store.ts';
import { usageRange } from '../../services/billing/src/usage/range.ts';
import { readUsage } from '../../services/billing/src/usage/read-usage.ts';
import { quantile, timed } from './figures.ts';
import { fillYear, NOW, ORG, YEAR_MS } from './year-of-calls.ts';

const CALLS = { server: 10_000_000, standIn: 1_000_000 } as const;
const ROUNDS = 20;
const SILENCE_MS = 600_000;

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
  await fillYear(store, calls, withLogs);
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
  await work(); // the first call also compiles and connects
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) await timed(times, work);
  const sorted = times.toSorted((a, b) => a - b);
  const ms = (share: number) => `${quantile(sorted, share).toFixed(1)} ms`.padStart(10);
  console.log(`p50 ${ms(0.5)}  p95 ${ms(0.95)}  ${name}`);
}
