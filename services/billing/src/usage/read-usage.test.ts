// Usage from aggregates and the ledger, compared with sums over the events.
import {
  type Event,
  USAGE_GROUPS,
  USAGE_INTERVALS,
  type UsageQuery,
  type UsageRow,
} from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import { makeLogger } from '@switchyard/service';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestStore, testDatabases } from '../fixtures/database.ts';
import { completed, metered, mixedEvents, ORG, refused, TIME, voided } from '../fixtures/events.ts';
import { entryOf } from '../store/entry-of.ts';
import { LedgerWriter } from '../store/ledger-writer.ts';
import { usageRange } from './range.ts';
import { readUsage } from './read-usage.ts';
import { OTHER_VALUES, TAG_VALUES_MAX, Tally } from './tally.ts';

let databases: Awaited<ReturnType<typeof testDatabases>>;
beforeAll(async () => {
  databases = await testDatabases();
});
afterAll(() => databases.stop());

async function booked(events: readonly Event[]): Promise<TestStore> {
  const database = await databases.open();
  const writer = new LedgerWriter({ store: database.store, logger: makeLogger('test', 'silent') });
  await writer.recover();
  await writer.append(events.flatMap((event) => entryOf(event) ?? []));
  return database;
}

const usage = ({ store }: TestStore, query: UsageQuery, org = ORG) =>
  readUsage(store, org, usageRange(query, TIME.getTime()));

describe('the same money at every interval and grouping', () => {
  const events = mixedEvents(250, 99);
  let database: TestStore;
  beforeAll(async () => {
    database = await booked(events);
  });

  /** Cost of an org's events that were not voided, in nano-dollars, from (inclusive) to. */
  function costByHand(org: string, from: number, to: number): bigint {
    const voids = new Set(events.filter(({ type }) => type === 'call.voided').map(({ id }) => id));
    let sum = 0n;
    for (const { id, time, data } of events)
      if ('cost_nano' in data && data.org === org && !voids.has(`${id}:void`)) {
        const at = Date.parse(time);
        if (at >= from && at < to) sum += BigInt(data.cost_nano);
      }
    return sum;
  }

  const cost = (rows: readonly Pick<UsageRow, 'cost'>[]) =>
    rows.reduce((sum, row) => sum + parseDollars(row.cost), 0n);

  // Everything; both ends within a quarter hour; across midnight in Kathmandu; within one quarter hour.
  const ranges = [
    ['2026-11-20T00:00:00Z', '2026-11-22T00:00:00Z'],
    ['2026-11-20T10:07:31.123Z', '2026-11-21T03:01:00Z'],
    ['2026-11-20T20:10:00+05:45', '2026-11-21T14:00:00+05:45'],
    ['2026-11-20T15:01:00Z', '2026-11-20T15:13:00Z'],
  ] as const;
  const questions = ranges.flatMap(([from, to]) =>
    [undefined, ...USAGE_INTERVALS].flatMap((interval) =>
      [undefined, ...USAGE_GROUPS, 'tag:team' as const].map(
        (groupBy) => [from, to, interval, groupBy] as const,
      ),
    ),
  );

  test('are not read for a caller that is gone', async () => {
    const [from, to] = ranges[0];
    const byInterval = (['minute', 'hour', 'day'] as const).map((interval) => ({ interval }));
    for (const query of [...byInterval, { group_by: 'tag:team' as const }]) {
      const range = usageRange({ from, to, ...query }, TIME.getTime());
      const gone = AbortSignal.abort(new Error('the caller is gone'));
      await expect(readUsage(database.store, ORG, range, gone)).rejects.toThrow('the caller is gone');
    }
  });

  test.each(questions)('from %s to %s by %s and %s', async (from, to, interval, groupBy) => {
    const query = { from, to, ...(interval ? { interval } : {}), ...(groupBy ? { group_by: groupBy } : {}) };
    for (const org of [ORG, 'org_b']) {
      const { total, data } = await usage(database, query, org);
      const expected = costByHand(org, Date.parse(from), Date.parse(to));
      expect(parseDollars(total.cost)).toBe(expected);
      expect(cost(data)).toBe(expected);
      expect(data.reduce((sum, row) => sum + row.calls, 0)).toBe(total.calls);
      for (const [name, quantity] of Object.entries(total.quantities)) {
        const thousandths = data.reduce(
          (sum, row) => sum + Math.round((row.quantities[name] ?? 0) * 1_000),
          0,
        );
        expect(thousandths).toBe(Math.round(quantity * 1_000));
      }
    }
  });

  test.each(['Asia/Kathmandu', 'Europe/Berlin', 'America/New_York', 'UTC'])('in the zone %s', async (tz) => {
    const questions = ranges
      .slice(0, 2)
      .flatMap((range) => USAGE_INTERVALS.map((interval) => [...range, interval] as const));
    for (const [from, to, interval] of questions) {
      const { data, total } = await usage(database, { from, to, interval, tz });
      expect(parseDollars(total.cost)).toBe(costByHand(ORG, Date.parse(from), Date.parse(to)));
      const starts = data.map((row) => Date.parse(row.from ?? ''));
      for (const [i, row] of data.entries()) {
        const end = Math.min(starts[i + 1] ?? Infinity, Date.parse(to));
        const begin = Math.max(starts[i] ?? 0, Date.parse(from));
        expect(parseDollars(row.cost)).toBe(costByHand(ORG, begin, end));
      }
    }
  });

  test('of a single key, model or status equals the row of its group', async () => {
    const [from, to] = ranges[1];
    for (const group of USAGE_GROUPS) {
      const { data } = await usage(database, { from, to, group_by: group });
      for (const row of data.filter(({ group: value }) => value !== null)) {
        const { total } = await usage(database, { from, to, [group]: row.group });
        expect(total).toEqual({ calls: row.calls, cost: row.cost, quantities: row.quantities });
      }
    }
  });

  test('by tag, each value has the cost of its charges, of one key too', async () => {
    const [from, to] = ranges[0];
    const voids = new Set(events.filter(({ type }) => type === 'call.voided').map(({ id }) => id));
    const expected = (team: string | null, key?: string) =>
      events.reduce((sum, { id, data }) => {
        if (!('cost_nano' in data && 'tags' in data) || data.org !== ORG || voids.has(`${id}:void`))
          return sum;
        const counts = (data.tags?.team ?? null) === team && (!key || data.key_id === key);
        return counts ? sum + BigInt(data.cost_nano) : sum;
      }, 0n);
    for (const key of [undefined, 'key_1']) {
      const only = key ? { key } : {};
      const { data } = await usage(database, { from, to, group_by: 'tag:team', ...only });
      const named = data.filter(({ group }) => group !== null);
      expect(named.map(({ group }) => group).sort()).toEqual(['team_0', 'team_1', 'team_2', 'team_3']);
      for (const { group, cost: row } of named) expect(parseDollars(row)).toBe(expected(group ?? null, key));
    }
  });

  test('by a tag with more values than rows: the values that cost most, and the others in one row', async () => {
    const values = TAG_VALUES_MAX + 500;
    const tagged = Array.from({ length: values }, (_, i) =>
      completed(`req_t${i}`, BigInt(i + 1), { tags: { user: `u${i}` } }),
    );
    const { store } = await booked(tagged);
    const range = usageRange({ from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' }, TIME.getTime());
    const { data } = await readUsage(store, ORG, { ...range, groupBy: 'tag:user' });
    expect(data).toHaveLength(TAG_VALUES_MAX + 1);
    expect(data.find(({ group }) => group === OTHER_VALUES)).toMatchObject({ calls: 500, cost: 125_250e-9 });
    expect(data.some(({ group }) => group === 'u500')).toBe(true);
    expect(data.some(({ group }) => group === 'u499')).toBe(false);
  });

  test('by a tag, in many intervals: exact for each value and for none, and refused beyond the rows of an answer', () => {
    const range = usageRange(
      { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z', interval: 'minute' },
      TIME.getTime(),
    );
    const tallyOf = (values: number) => {
      const tally = new Tally({ ...range, groupBy: 'tag:team' });
      for (let at = range.from; at < range.to; at += 60_000)
        for (let i = 0; i < values; i++)
          tally.add({ at, group: i === 0 ? null : `team_${i}`, amounts: { calls: 1n, cost: BigInt(i + 1) } });
      return tally;
    };
    const last = tallyOf(17).rows().data.slice(-17);
    expect(last.map(({ group, cost }) => [group, parseDollars(cost)])).toEqual(
      Array.from({ length: 17 }, (_, i) => [i === 16 ? null : `team_${16 - i}`, BigInt(17 - i)]),
    );
    expect(() => tallyOf(20).rows()).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'from' }),
    );
  });

  test('is nothing for an org without events', async () => {
    const all = { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' };
    expect(await usage(database, all, 'org_none')).toEqual({
      ...{ total: { calls: 0, cost: 0, quantities: {} }, data: [] },
    });
  });
});

test.each([
  ['Europe/Berlin', '2026-10-20T22:00:00Z', '2026-10-30T23:00:00Z'],
  ['America/New_York', '2026-10-27T16:30:00Z', '2026-11-06T05:00:00Z'],
  ['Asia/Kathmandu', '2026-10-27T18:15:00Z', '2026-11-06T18:15:00Z'],
  ['Pacific/Kiritimati', '2026-10-27T10:00:00Z', '2026-11-06T09:45:00Z'],
])(
  'days of %s from %s have the hours of their local clock, also when the clock changes',
  async (tz, from, to) => {
    const [first, end] = [Date.parse(from), Date.parse(to)];
    const hours = Array.from(
      { length: Math.ceil((end - first) / 3_600_000) },
      (_, i) => first + i * 3_600_000,
    );
    const events = hours.map((at, i) =>
      completed(`req_${at}`, BigInt(i + 1) ** 3n, {
        time: new Date(at + (i % 60) * 60_000),
        key_id: `key_${i % 2}`,
      }),
    );
    const database = await booked(events.filter(({ time }) => Date.parse(time) < end));
    const date = new Intl.DateTimeFormat('en-CA', { timeZone: tz, dateStyle: 'short' });
    for (const key of [undefined, 'key_1']) {
      const expected = new Map<string, bigint>();
      for (const { time, data } of events) {
        if (Date.parse(time) >= end || (key && data.key_id !== key)) continue;
        const day = date.format(Date.parse(time));
        expected.set(day, (expected.get(day) ?? 0n) + BigInt(data.cost_nano));
      }
      const { data } = await usage(database, { from, to, interval: 'day', tz, ...(key ? { key } : {}) });
      const rows = data.map((row) => {
        const inIt = Math.max(first, Date.parse(row.from ?? ''));
        return [date.format(inIt), parseDollars(row.cost)] as const;
      });
      expect(rows).toEqual([...expected]);
    }
  },
);

describe('the rows', () => {
  const at = (time: string) => ({ time: new Date(time) });
  const events = [
    completed('req_1', 1_500_000_000n, { ...at('2026-11-20T18:20:00Z'), quantities: { input_tokens: 3 } }),
    completed('req_2', 12_500n, {
      ...at('2026-11-20T18:10:00Z'),
      model: 'zeta/m',
      quantities: { seconds: 0.25 },
    }),
    metered('cmp_1', 0, 1n, at('2026-11-20T18:30:00Z')),
    refused('req_3', at('2026-11-20T18:30:00Z')),
    completed('req_4', 9n, { ...at('2026-11-20T19:00:00Z'), model: 'gone/model' }),
    voided('req_4', at('2026-11-21T07:00:00Z')),
  ];
  const all = { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' };

  test('name their group, null without a group, and leave out voided and refused calls', async () => {
    const { total, data } = await usage(await booked(events), { ...all, group_by: 'model' });
    expect(data).toEqual([
      { group: 'acme/chat-1', calls: 1, cost: 1.5, quantities: { input_tokens: 3 } },
      { group: 'zeta/m', calls: 1, cost: 0.0000125, quantities: { seconds: 0.25 } },
      { group: null, calls: 0, cost: 0.000000001, quantities: { minutes: 1 } },
    ]);
    expect(total).toEqual({
      ...{ calls: 2, cost: 1.500012501, quantities: { input_tokens: 3, seconds: 0.25, minutes: 1 } },
    });
  });

  test('name the computer, and do not count its minutes as calls', async () => {
    const { data } = await usage(await booked(events), { ...all, group_by: 'computer' });
    expect(data.find(({ group }) => group === 'cmp_1')).toEqual({
      ...{ group: 'cmp_1', calls: 0, cost: 0.000000001, quantities: { minutes: 1 } },
    });
  });

  test('name how calls ended, and null for rows that are no call', async () => {
    const more = [...events, completed('req_5', 3n, { ...at('2026-11-20T18:30:00Z'), status: 'cancelled' })];
    const { data } = await usage(await booked(more), { ...all, group_by: 'status' });
    expect(data.map(({ group, calls, cost }) => [group, calls, cost])).toEqual([
      ...[['ok', 2, 1.5000125]],
      ...[['cancelled', 1, 0.000000003]],
      ...[[null, 0, 0.000000001]],
    ]);
  });

  test('begin where the days of the caller begin', async () => {
    const { data } = await usage(await booked(events), {
      ...{ from: '2026-11-20T00:00:00+05:45', to: '2026-11-22T00:00:00+05:45', interval: 'day' },
    });
    expect(data.map(({ from, cost }) => [from, cost])).toEqual([
      ['2026-11-19T18:15:00.000Z', 0.0000125],
      ['2026-11-20T18:15:00.000Z', 1.500000001],
    ]);
  });
});
