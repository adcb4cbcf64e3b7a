// Statements against the ledger: every row in one line of one month, and closed months that stay as they are.
import type { Event } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestStore, testDatabases } from '../fixtures/database.ts';
import {
  completed,
  metered,
  mixedEvents,
  ORG,
  videoCharged,
  videoRefunded,
  voided,
} from '../fixtures/events.ts';
import { entryOf } from '../store/entries.ts';
import { LedgerWriter } from '../store/ledger-writer.ts';
import { usageRange } from '../usage/range.ts';
import { readUsage } from '../usage/read-usage.ts';
import { bookedMonth, closesAt } from './months.ts';
import { readStatement, readSummaries } from './read-statement.ts';

const logger = makeLogger('test', 'silent');
let databases: Awaited<ReturnType<typeof testDatabases>>;
beforeAll(async () => {
  databases = await testDatabases();
}, 60_000);
afterAll(() => databases.stop());

const at = (text: string) => new Date(text);
const time = (text: string) => ({ time: at(text) });

class Books {
  readonly database: TestStore;
  readonly clock: FakeClock;
  readonly #writer: LedgerWriter;

  private constructor(database: TestStore, now: string) {
    this.database = database;
    this.clock = new FakeClock(at(now).getTime());
    this.#writer = new LedgerWriter({ store: database.store, logger, clock: this.clock });
  }

  static async open(now: string): Promise<Books> {
    const books = new Books(await databases.open(), now);
    await books.#writer.recover();
    return books;
  }

  async book(...events: Event[]): Promise<void> {
    await this.#writer.append(events.flatMap((event) => entryOf(event) ?? []));
  }

  goTo(now: string): void {
    this.clock.step(at(now).getTime() - this.clock.now());
  }

  statement(month: string, org = ORG) {
    return readStatement(this.database.store, org, month, this.clock.now());
  }
}

test.each([
  ['2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z', '2026-11'],
  ['2026-11-30T23:59:59.999Z', '2026-12-02T23:58:59Z', '2026-11'],
  ['2026-11-30T23:59:59.999Z', '2026-12-02T23:59:00Z', '2026-12'],
  ['2026-11-01T00:00:00Z', '2027-02-01T10:00:00Z', '2027-01'],
  ['2026-12-01T00:00:00Z', '2026-12-01T00:00:00Z', '2026-12'],
  ['2026-12-01T00:00:02Z', '2026-11-30T23:59:59Z', '2026-12'],
])('what ended at %s and is booked at %s is in %s', (ended, booked, month) => {
  expect(bookedMonth(at(ended).getTime(), at(booked).getTime())).toBe(month);
});

describe('a statement', () => {
  test('has every row in one line: lines = total = usage of the month, and a line = its rows', async () => {
    const books = await Books.open('2026-11-22T00:00:00Z');
    await books.book(...mixedEvents(200, 5));
    const { store } = books.database;
    const { lines, total } = await books.statement('2026-11');
    const range = usageRange({ from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' }, books.clock.now());
    const usage = await readUsage(store, ORG, range);
    expect(total).toBe(usage.total.cost);
    expect(lines.reduce((sum, { amount }) => sum + parseDollars(amount), 0n)).toBe(parseDollars(total));
    expect(lines.reduce((sum, { calls }) => sum + calls, 0)).toBe(usage.total.calls);
    for (const { id, amount } of lines) {
      const rows = await store.ledger.find({ org: ORG, month: '2026-11', line: id }).toArray();
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.reduce((sum, { cost }) => sum + cost, 0n)).toBe(parseDollars(amount));
    }
  });

  test('shows a rate that was one all through, and none where there were two', async () => {
    const books = await Books.open('2026-11-22T00:00:00Z');
    const lines = (rate: string) => [
      { unit: 'input_token', quantity: 10, rate },
      { unit: 'output_token', quantity: 5, rate: '0.000002' },
    ];
    await books.book(completed('req_1', 1n, { lines: lines('0.000001') }));
    expect((await books.statement('2026-11')).lines[0]?.rates).toEqual([
      { unit: 'input_token', rate: '0.000001' },
      { unit: 'output_token', rate: '0.000002' },
    ]);
    await books.book(completed('req_2', 1n, { lines: lines('0.000003') }));
    expect((await books.statement('2026-11')).lines[0]?.rates).toEqual([
      { unit: 'output_token', rate: '0.000002' },
    ]);
  });

  test('carries the balance on: credits and refunds are in the month in which they came', async () => {
    const books = await Books.open('2026-11-22T00:00:00Z');
    await books.book(
      completed('req_nov', 300n, time('2026-11-21T00:00:00Z')),
      videoCharged('vid_1', 1_000n, time('2026-11-21T00:00:00Z')),
      metered('cmp_1', 0, 7n, time('2026-11-21T00:00:00Z')),
    );
    books.goTo('2026-12-05T00:00:00Z');
    await books.book(videoRefunded('vid_1', 1_000n, time('2026-12-04T00:00:00Z')));
    const [november, december] = await readSummaries(books.database.store, ORG, books.clock.now());
    expect(november).toMatchObject({
      ...{ month: '2026-11', status: 'closed', opening_balance: 0, charges: 0.000001307, refunds: 0 },
      closing_balance: -0.000001307,
    });
    expect(december).toMatchObject({
      ...{ month: '2026-12', status: 'open', opening_balance: -0.000001307, charges: 0, refunds: -0.000001 },
      ...{ total: -0.000001, closing_balance: -0.000000307 },
    });
    expect((await books.statement('2026-12')).lines).toMatchObject([
      { kind: 'refund', model: 'acme/video-1', late: false, amount: -0.000001 },
    ]);
  });
});

describe('a closed month', () => {
  test('never changes: what comes late, a void too, goes to the next one and says so', async () => {
    const books = await Books.open('2026-11-30T12:00:00Z');
    const november = time('2026-11-30T11:00:00Z');
    await books.book(completed('req_1', 100n, november), completed('req_2', 40n, november));
    books.goTo('2026-12-02T10:00:00Z');
    await books.book(completed('req_3', 5n, november)); // within the 48 hours
    books.clock.step(closesAt('2026-11') - books.clock.now());
    const closed = await books.statement('2026-11');
    expect(closed).toMatchObject({ status: 'closed', total: 0.000000145 });
    await books.book(
      completed('req_4', 7n, november),
      voided('req_2', november),
      completed('req_3', 5n, november),
    );
    expect(await books.statement('2026-11')).toEqual(closed);
    const { lines, total } = await books.statement('2026-12');
    expect(lines).toMatchObject([{ late: true, calls: 0, amount: -0.000000033 }]);
    expect(total).toBe(-0.000000033);
    const all = usageRange({ from: '2026-11-01T00:00:00Z', to: '2027-01-01T00:00:00Z' }, books.clock.now());
    const usage = await readUsage(books.database.store, ORG, all);
    expect(parseDollars(usage.total.cost)).toBe(parseDollars(closed.total) + parseDollars(total));
  });

  test('is the same when its lines are folded again from the ledger, by a writer of another time', async () => {
    const books = await Books.open('2026-12-20T00:00:00Z');
    await books.book(...mixedEvents(60, 8), completed('req_dec', 5n, time('2026-12-19T00:00:00Z')));
    const before = await Promise.all([books.statement('2026-11'), books.statement('2026-12')]);
    const { statementLines, checkpoints } = books.database.store;
    await statementLines.deleteMany({});
    await checkpoints.deleteMany({});
    books.goTo('2027-03-01T00:00:00Z');
    await new LedgerWriter({ store: books.database.store, logger, clock: books.clock }).recover();
    books.goTo('2026-12-20T00:00:00Z');
    expect(await Promise.all([books.statement('2026-11'), books.statement('2026-12')])).toEqual(before);
    expect(before[0].lines).toEqual([]);
    expect(before[1].lines.length).toBeGreaterThan(3);
  });
});
