// Statements against the ledger: every row is in one line of one month, and closed months never change.
import { type Event, OTHER_LINES, STATEMENT_LINES_MAX } from '@switchyard/contracts';
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
import { ANSWER_MS_MAX } from '../store/answered.ts';
import { entryOf } from '../store/entry-of.ts';
import { LedgerWriter, type Step } from '../store/ledger-writer.ts';
import { usageRange } from '../usage/range.ts';
import { readUsage } from '../usage/read-usage.ts';
import { BOOKING_MS_MAX, bookedMonth, CLOCKS_DIFFER_MS_MAX, closesAt } from './months.ts';
import { readStatement, readSummaries, sumsOfLines } from './read-statement.ts';

const logger = makeLogger('test', 'silent');
let databases: Awaited<ReturnType<typeof testDatabases>>;
beforeAll(async () => {
  databases = await testDatabases();
});
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
])('a row of %s that is booked at %s is in %s', (ended, booked, month) => {
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

  test('shows a rate that was constant, and none if there were two', async () => {
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

  test('shows the rate of a whole unit where parts of it were counted', async () => {
    const books = await Books.open('2026-11-22T00:00:00Z');
    const memory = { unit: 'gb_memory_minute', quantity: 512, rate: '0.0001', per: 1024 };
    await books.book(metered('cmp_1', 0, 1n, { lines: [memory] }));
    expect((await books.statement('2026-11')).lines[0]?.rates).toEqual([
      { unit: 'gb_memory_minute', rate: '0.0001' },
    ]);
  });

  test(`lists its ${STATEMENT_LINES_MAX} largest lines, and the others in one`, async () => {
    const books = await Books.open('2026-11-22T00:00:00Z');
    const others = 3;
    const minutes = Array.from({ length: STATEMENT_LINES_MAX + others }, (_, i) =>
      metered(`cmp_${i}`, 0, BigInt(i + 1)),
    );
    await books.book(...minutes);
    const { lines, total } = await books.statement('2026-11');
    expect(lines).toHaveLength(STATEMENT_LINES_MAX + 1);
    expect(lines[0]).toMatchObject({ computer_id: `cmp_${minutes.length - 1}`, calls: 0 });
    expect(lines.find(({ id }) => id === OTHER_LINES.usage)).toMatchObject({
      ...{ kind: 'usage', type: null, computer_id: null, rates: [] },
      ...{ quantities: { minutes: others }, amount: 6e-9 },
    });
    expect(lines.reduce((sum, { amount }) => sum + parseDollars(amount), 0n)).toBe(parseDollars(total));
  });

  test('is added up by the server to the nano-dollar, beyond the exact range of a float', async () => {
    const books = await Books.open('2026-11-22T00:00:00Z');
    const cost = 2n ** 53n + 1n;
    await books.book(
      ...['acme/a', 'acme/b'].map((model) => completed(`req_${model.at(-1)}`, cost, { model })),
      videoCharged('vid_1', 5n),
      videoRefunded('vid_1', 5n),
    );
    const sums = await sumsOfLines(books.database.store, ORG);
    expect(sums.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
      { month: '2026-11', kind: 'refund', cost: -5n },
      { month: '2026-11', kind: 'usage', cost: 2n * cost + 5n },
    ]);
    expect(await sumsOfLines(books.database.store, 'org_none')).toEqual([]);
  });

  test('carries the balance forward: credits and refunds are in the month of their arrival', async () => {
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

/** Another writer on the same books: a second owner with its own clock. */
async function ownerBy(
  { database }: Books,
  clock: FakeClock,
  onStep: (step: Step) => void | Promise<void> = () => {},
): Promise<LedgerWriter> {
  const writer = new LedgerWriter({ store: database.store, logger, clock, onStep });
  await writer.recover();
  return writer;
}

const entriesOf = (...events: Event[]) => events.flatMap((event) => entryOf(event) ?? []);
const monthsOf = async ({ database }: Books) =>
  (await database.store.ledger.find().sort({ n: 1 }).toArray()).map(({ _id, month }) => [_id, month]);

describe('at the end of a month', () => {
  const lastMs = time('2026-11-30T23:59:59.999Z');
  const firstMs = time('2026-12-01T00:00:00.000Z');

  test('the last millisecond is in it and the next is not, late by 47 h 58 min, by 47 h 59 min, and by 48 h 1 min', async () => {
    const books = await Books.open('2026-12-01T00:00:01Z');
    await books.book(completed('req_last', 1n, lastMs), completed('req_first', 2n, firstMs));
    books.goTo('2026-12-02T23:58:00Z');
    await books.book(completed('req_47h58', 4n, lastMs), voided('req_last', lastMs));
    books.goTo('2026-12-02T23:59:00Z'); // a month accepts nothing in its last minute before the close
    await books.book(completed('req_47h59', 8n, lastMs));
    books.goTo('2026-12-03T00:01:00Z');
    const closed = await books.statement('2026-11');
    await books.book(completed('req_48h01', 16n, lastMs), voided('req_47h58', lastMs));
    expect(await monthsOf(books)).toEqual([
      ['req_last', '2026-11'],
      ['req_first', '2026-12'],
      ['req_47h58', '2026-11'],
      ['req_last:void', '2026-11'],
      ['req_47h59', '2026-12'],
      ['req_48h01', '2026-12'],
      ['req_47h58:void', '2026-12'],
    ]);
    expect(await books.statement('2026-11')).toEqual(closed);
    expect(closed).toMatchObject({ status: 'closed', total: 0.000000004 });
    expect((await books.statement('2026-12')).total).toBe(0.000000022);
  });

  test(`two owners whose clocks differ by ${CLOCKS_DIFFER_MS_MAX / 1_000} s: a month that either shows as closed never changes`, async () => {
    for (const [behindMs, aheadMs] of [
      [CLOCKS_DIFFER_MS_MAX, 0],
      [0, CLOCKS_DIFFER_MS_MAX],
    ] as const) {
      const books = await Books.open('2026-12-02T12:00:00Z');
      const close = closesAt('2026-11');
      // In true time: the last moment at which the slow clock books for November, and when its row is in the ledger.
      const lastTaken = close - BOOKING_MS_MAX - 1 + behindMs;
      const behind = await ownerBy(books, new FakeClock(lastTaken - behindMs));
      await behind.append(entriesOf(completed('req_1', 1n, lastMs)));
      expect(await monthsOf(books)).toEqual([['req_1', '2026-11']]);
      const inTheLedger = lastTaken + ANSWER_MS_MAX;
      // In true time: the first moment at which the fast clock shows the month as closed.
      const shownClosed = close - aheadMs;
      expect(inTheLedger).toBeLessThan(shownClosed);
      const ahead = new FakeClock(shownClosed + aheadMs);
      const closed = await readStatement(books.database.store, ORG, '2026-11', ahead.now());
      expect(closed.status).toBe('closed');
      for (const clock of [ahead, new FakeClock(shownClosed - behindMs)])
        await (await ownerBy(books, clock)).append(
          entriesOf(completed(`req_${clock.now()}`, 2n, lastMs), voided('req_1', lastMs)),
        );
      expect(await readStatement(books.database.store, ORG, '2026-11', ahead.now())).toEqual(closed);
    }
  });

  test.each(['known', 'logs'] as const)(
    'a batch in progress (%s) at the close goes to the next month',
    async (at) => {
      const books = await Books.open('2026-12-02T12:00:00Z');
      const clock = new FakeClock(closesAt('2026-11') - BOOKING_MS_MAX - 1);
      const writer = await ownerBy(books, clock, (step) => {
        if (step === at) clock.advance(BOOKING_MS_MAX + 1);
      });
      const before = await readStatement(books.database.store, ORG, '2026-11', clock.now());
      await writer.append(entriesOf(completed('req_1', 1n, lastMs)));
      expect(await monthsOf(books)).toEqual([['req_1', '2026-12']]);
      expect((await readStatement(books.database.store, ORG, '2026-11', clock.now())).lines).toEqual(
        before.lines,
      );
    },
  );

  test('rows in the ledger but in no line after a crash: the next owner adds them before it answers', async () => {
    const books = await Books.open('2026-12-02T12:00:00Z');
    const clock = new FakeClock(closesAt('2026-11') - BOOKING_MS_MAX - 1);
    const dying = await ownerBy(books, clock, (step) => {
      if (step === 'rows') throw new Error('killed');
    });
    await expect(dying.append(entriesOf(completed('req_1', 1n, lastMs)))).rejects.toThrow('killed');
    clock.advance(86_400_000); // billing was down for a day, and the month has closed
    const next = await ownerBy(books, clock);
    await next.append(entriesOf(completed('req_1', 1n, lastMs), completed('req_2', 2n, lastMs)));
    expect(await monthsOf(books)).toEqual([
      ['req_1', '2026-11'],
      ['req_2', '2026-12'],
    ]);
    const { store } = books.database;
    expect((await readStatement(store, ORG, '2026-11', clock.now())).total).toBe(1e-9);
    expect((await readStatement(store, ORG, '2026-12', clock.now())).lines).toMatchObject([
      { late: true, amount: 2e-9 },
    ]);
  });
});

describe('a closed month', () => {
  test('never changes: late rows, including voids, go to the next month and are marked', async () => {
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

  test('is the same when a writer with another clock folds its lines again from the ledger', async () => {
    const books = await Books.open('2026-12-20T00:00:00Z');
    await books.book(...mixedEvents(60, 8), completed('req_dec', 5n, time('2026-12-19T00:00:00Z')));
    const before = await Promise.all([books.statement('2026-11'), books.statement('2026-12')]);
    const { aggregates, checkpoints } = books.database.store;
    await aggregates.lines.deleteMany({});
    await checkpoints.deleteMany({});
    books.goTo('2027-03-01T00:00:00Z');
    await new LedgerWriter({ store: books.database.store, logger, clock: books.clock }).recover();
    books.goTo('2026-12-20T00:00:00Z');
    expect(await Promise.all([books.statement('2026-11'), books.statement('2026-12')])).toEqual(before);
    expect(before[0].lines).toEqual([]);
    expect(before[1].lines.length).toBeGreaterThan(3);
  });
});
