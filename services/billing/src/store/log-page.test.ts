// Filters of Logs: their results, and their indexes.

import type { ListQuery, LogsQuery } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestStore, testDatabases } from '../fixtures/database.ts';
import { completed, metered, ORG, refused, TIME, videoCharged, videoRefunded } from '../fixtures/events.ts';
import { entryOf } from './entry-of.ts';
import { INDEXES } from './indexes.ts';
import { LedgerWriter } from './ledger-writer.ts';
import { logFilter, readLogPage } from './log-page.ts';

/** The index for each filter. */
const INDEX_OF_FILTER = {
  key: 'org_key_at',
  type: 'org_type_at',
  model: 'org_models_at',
  computer: 'org_computer_at',
  status: 'org_status_at',
  tag: 'org_tags_at',
  client_request_id: 'org_client_request_id_at',
  // For a range with many rows the server uses `org_at` instead: it tries both on the first rows.
  cost_min: 'org_cost_at',
  cost_max: 'org_cost_at',
  from: 'org_at',
  to: 'org_at',
  // Two indexes: `_id_` finds the call, this one its refunds.
  request_id: 'corrects',
} as const satisfies Record<
  Exclude<keyof LogsQuery, keyof ListQuery>,
  (typeof INDEXES)['logs'][number]['name']
>;

let databases: Awaited<ReturnType<typeof testDatabases>>;
let database: TestStore;

const later = new Date(TIME.getTime() + 60_000);
const EVENTS = [
  completed('req_1', 1_000_000_000n),
  completed('req_2', 5n, {
    key_id: 'key_2',
    type: 'embedding',
    model: 'acme/e',
    status: 'cancelled',
    tags: { team: 'search', user: '42' },
    client_request_id: 'mine-1',
  }),
  refused('req_3', { time: later, client_request_id: 'mine-1' }),
  metered('cmp_1', 0, 20n, { key_id: 'key_2' }),
  videoCharged('vid_1', 800_000_000n, { time: later }),
  videoRefunded('vid_1', 800_000_000n, { time: later }),
];

beforeAll(async () => {
  databases = await testDatabases();
  database = await databases.open();
  const writer = new LedgerWriter({ store: database.store, logger: makeLogger('test', 'silent') });
  await writer.recover();
  await writer.append(EVENTS.flatMap((event) => entryOf(event) ?? []));
});
afterAll(() => databases.stop());

const found = async (query: LogsQuery) =>
  (await readLogPage(database.store, ORG, query)).rows.map(({ _id }) => _id).sort();

describe('a filter finds', () => {
  test.each<[LogsQuery, string[]]>([
    [{ key: 'key_2' }, ['cmp_1:1:0', 'req_2']],
    [{ type: 'embedding' }, ['req_2']],
    [{ model: 'acme/video-1' }, ['req_of_vid_1', 'vid_1:refund']],
    [{ computer: 'cmp_1' }, ['cmp_1:1:0']],
    [{ status: 'refused' }, ['req_3']],
    [{ tag: 'team:search' }, ['req_2']],
    [{ tag: 'team:sea' }, []],
    [{ cost_min: 0.8 }, ['req_1', 'req_of_vid_1']],
    [{ cost_min: 0.000000005, cost_max: 0.00000002 }, ['cmp_1:1:0', 'req_2']],
    [{ cost_max: -0.8 }, ['vid_1:refund']],
    [{ request_id: 'req_of_vid_1' }, ['req_of_vid_1', 'vid_1:refund']],
    [{ request_id: 'req_none' }, []],
    [{ client_request_id: 'mine-1' }, ['req_2', 'req_3']],
    [{ client_request_id: 'mine' }, []],
    [{ from: later.toISOString() }, ['req_3', 'req_of_vid_1', 'vid_1:refund']],
    [{ to: later.toISOString(), key: 'key_2', cost_min: 0.00000001 }, ['cmp_1:1:0']],
  ])('%o', async (query, ids) => {
    expect(await found(query)).toEqual(ids);
  });

  test('its own pages, each after the last id of the one before', async () => {
    const first = await readLogPage(database.store, ORG, { cost_min: 0.8, limit: 1 });
    const second = await readLogPage(database.store, ORG, {
      ...{ cost_min: 0.8, limit: 1, after: first.rows.at(-1)?._id ?? '' },
    });
    expect([first, second].flatMap(({ rows }) => rows.map(({ _id }) => _id))).toEqual([
      'req_of_vid_1',
      'req_1',
    ]);
    expect([first.hasMore, second.hasMore]).toEqual([true, false]);
  });
});

test.each<[LogsQuery, string]>([
  [{ cost_min: 2, cost_max: 1 }, 'cost_min'],
  [{ cost_max: 0.0000000001 }, 'cost_max'],
  [{ from: TIME.toISOString(), to: TIME.toISOString() }, 'from'],
])('%o is refused, naming the field', (query, param) => {
  expect(() => logFilter(ORG, query)).toThrow(expect.objectContaining({ code: 'invalid_request', param }));
});

describe('each filter has its index', () => {
  const ASKED: Record<keyof typeof INDEX_OF_FILTER, LogsQuery> = {
    key: { key: 'k' },
    type: { type: 't' },
    model: { model: 'm' },
    computer: { computer: 'c' },
    status: { status: 'ok' },
    tag: { tag: 'team:search' },
    cost_min: { cost_min: 1 },
    cost_max: { cost_max: 1 },
    from: { from: TIME.toISOString() },
    to: { to: TIME.toISOString() },
    request_id: { request_id: 'r' },
    client_request_id: { client_request_id: 'c' },
  };

  test.each(Object.entries(ASKED) as [keyof typeof ASKED, LogsQuery][])('%s', (filter, query) => {
    const index = INDEXES.logs.find(({ name }) => name === INDEX_OF_FILTER[filter]);
    const fields = Object.keys(index?.keys ?? {});
    const { org: _, $and, ...asked } = logFilter(ORG, query);
    if (filter === 'request_id') {
      expect($and).toEqual([{ $or: [{ _id: 'r' }, { corrects: 'r' }] }]);
      expect(fields).toEqual(['corrects']);
    } else {
      // The org, the filter, and the order of the cursor: the index is read in order and stops at the limit.
      const expected = ['org', ...Object.keys(asked).filter((field) => field !== 'at'), 'at', '_id'];
      expect(fields).toEqual(expected);
    }
  });

  test('of this name, which a real server uses', async ({ skip }) => {
    const plans = await Promise.all(
      Object.entries(ASKED).map(async ([filter, query]) => {
        const cursor = database.store.logs.find(logFilter(ORG, query)).sort({ at: -1, _id: -1 }).limit(51);
        const plan = await cursor.explain('queryPlanner').catch(() => null);
        return [filter, JSON.stringify(plan?.queryPlanner ?? null)] as const;
      }),
    );
    if (plans.every(([, plan]) => !plan.includes('IXSCAN'))) return skip('this server does not explain');
    for (const [filter, plan] of plans)
      expect(plan, filter).toContain(`"indexName":"${INDEX_OF_FILTER[filter as keyof typeof ASKED]}"`);
  });
});
