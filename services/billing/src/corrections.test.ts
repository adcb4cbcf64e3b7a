// Charges, voids and refunds in every order, each late or duplicated, by a writer that crashes. The books must equal a
// model that applies one event after the other, to the nano-dollar, in every interval.
import { type Event, eventIds, makeEvent } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBooksBalance } from './fixtures/books.ts';
import { type TestStore, testDatabases } from './fixtures/database.ts';
import { completed, credited, TIME, videoCharged, videoRefunded, voided } from './fixtures/events.ts';
import { readStatement, readSummaries } from './statements/read-statement.ts';
import { QUARTER_MS } from './store/buckets.ts';
import { entryOf } from './store/entry-of.ts';
import { LedgerWriter, type Step } from './store/ledger-writer.ts';
import { usageRange } from './usage/range.ts';
import { readUsage } from './usage/read-usage.ts';

const RUNS = 60;
const CHARGES = 3;
const HOUR_MS = 3_600_000;
/** Hours over which the events are spread: two months, so that both statements are checked. */
const HOURS = 20;
const MONTHS = ['2026-10', '2026-11', '2026-12'];
const CREDIT = 1_000_000n;
const START = Date.parse('2026-11-30T14:00:00Z');

const logger = makeLogger('test', 'silent');
let databases: Awaited<ReturnType<typeof testDatabases>>;
let database: TestStore;
beforeAll(async () => {
  databases = await testDatabases();
  database = await databases.open();
});
afterAll(() => databases.stop());

/** A random action on a charge; `at` is in minutes. */
type Act =
  | { readonly what: 'charge'; readonly at: number; readonly cost: number }
  | { readonly what: 'void'; readonly at: number }
  | {
      readonly what: 'refund';
      readonly at: number;
      readonly number: number;
      readonly by: number;
      readonly amount: number;
    };

const minute = fc.integer({ min: 0, max: HOURS * 60 - 1 });
const actsOfCall = fc
  .record({
    charge: fc.record({
      what: fc.constant('charge' as const),
      at: minute,
      cost: fc.integer({ min: 0, max: 30 }),
    }),
    voids: fc.array(fc.record({ what: fc.constant('void' as const), at: minute }), { maxLength: 1 }),
    refunds: fc.array(
      fc.record({
        what: fc.constant('refund' as const),
        ...{ at: minute, number: fc.integer({ min: 1, max: 3 }), by: fc.integer({ min: 1, max: 2 }) },
        amount: fc.integer({ min: 1, max: 20 }),
      }),
      { maxLength: 4 },
    ),
  })
  .map(({ charge, voids, refunds }): Act[] => [charge, ...voids, ...refunds]);

/**
 * Several charges; the last is a video, where a void is its failure. Each event arrives once or twice, in any order.
 */
const scenario = fc.record({
  acts: fc.array(actsOfCall, { minLength: CHARGES, maxLength: CHARGES }),
  order: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
  twice: fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
  batches: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 10, maxLength: 10 }),
  deaths: fc.array(fc.constantFrom<Step | null>('known', 'logs', 'rows', 'folded', null, null), {
    minLength: 10,
    maxLength: 10,
  }),
});

const isVideo = (index: number) => index === CHARGES - 1;
const timeOf = (at: number) => new Date(START + at * 60_000);

function eventOf(org: string, index: number, act: Act): Event {
  const id = `${org}x${index}`;
  const time = timeOf(act.at);
  const charge = isVideo(index) ? eventIds.videoCharge(`vid_${id}`) : eventIds.call(`req_${id}`);
  switch (act.what) {
    case 'charge':
      return isVideo(index)
        ? videoCharged(`vid_${id}`, BigInt(act.cost), { org, time })
        : completed(`req_${id}`, BigInt(act.cost), { org, time });
    case 'void':
      return isVideo(index)
        ? videoRefunded(`vid_${id}`, VIDEO_REFUND, { org, time })
        : voided(`req_${id}`, { org, time });
    case 'refund':
      return makeEvent({
        name: 'charge.refunded',
        id: eventIds.refund(charge, act.number),
        source: '/switchyard/billing',
        time,
        data: {
          ...{ refund_id: `rfd_${act.by}`, org, key_id: 'key_9', charge, request_id: `req_${id}` },
          ...{ number: act.number, amount_nano: String(act.amount), reason: 'test', reference: null },
        },
      });
  }
}

/** Amount of the refund of a failed video. */
const VIDEO_REFUND = 12n;

/** The expected charges and refunds, updated with one event after the other. */
class Model {
  readonly #charges = new Map<number, { cost: bigint; left: bigint; at: Date }>();
  readonly #voids = new Set<number>();
  readonly #refunds = new Set<string>();
  /** Amounts in nano-dollars, and the times at which they count. */
  readonly moved: { readonly at: Date; readonly cost: bigint }[] = [];
  calls = 0;

  take(index: number, act: Act): void {
    if (act.what === 'charge') this.#charge(index, act);
    else if (act.what === 'void') this.#takeBack(index, act.at);
    else this.#refund(index, act);
  }

  #charge(index: number, { at, cost }: Act & { what: 'charge' }): void {
    if (this.#charges.has(index)) return;
    const isNetted = this.#voids.has(index) && !isVideo(index);
    const net = isNetted ? 0n : BigInt(cost);
    // A video's refund that arrived first has already returned its full amount.
    const left = isVideo(index) && this.#voids.has(index) ? net - VIDEO_REFUND : net;
    this.#charges.set(index, { cost: net, left, at: timeOf(at) });
    this.moved.push({ at: timeOf(at), cost: net });
    this.calls += isNetted ? 0 : 1;
  }

  #takeBack(index: number, at: number): void {
    if (this.#voids.has(index)) return;
    this.#voids.add(index);
    const charge = this.#charges.get(index);
    if (isVideo(index)) {
      const back = charge && charge.left < VIDEO_REFUND ? charge.left : VIDEO_REFUND;
      this.moved.push({ at: timeOf(at), cost: -back });
      if (charge) charge.left -= back;
    } else if (charge) {
      this.moved.push({ at: charge.at, cost: -charge.left });
      charge.left = 0n;
      this.calls -= 1;
    }
  }

  #refund(index: number, { at, number, amount }: Act & { what: 'refund' }): void {
    const charge = this.#charges.get(index);
    const back = BigInt(amount);
    if (this.#refunds.has(`${index}/${number}`) || !charge || back > charge.left) return;
    if (number > 1 && !this.#refunds.has(`${index}/${number - 1}`)) return;
    this.#refunds.add(`${index}/${number}`);
    charge.left -= back;
    this.moved.push({ at: timeOf(at), cost: -back });
  }
}

class Death extends Error {}

/** Steps at which the rows are already in the ledger. */
const AFTER_THE_ROWS: readonly (Step | null)[] = ['rows', 'folded', null];

let runs = 0;

test('the ledger, the logs, usage, statements and the balance equal the model', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ acts, order, twice, batches, deaths }) => {
      runs += 1;
      const org = `org_c${runs}`;
      const all = acts.flatMap((some, index) =>
        some.map((act) => ({ index, act, event: eventOf(org, index, act) })),
      );
      let waiting = all
        .flatMap((one, i) => (twice[i % twice.length] ? [one, one] : [one]))
        .map((one, i) => ({ one, place: order[i % order.length] ?? 0 }))
        .sort((a, b) => a.place - b.place)
        .map(({ one }) => one);
      const model = new Model();
      const clock = new FakeClock(START + HOURS * HOUR_MS);
      const credit = credited(`crd_${org}`, CREDIT, { org, time: TIME });
      await bookOnce([credit], null, clock);
      for (let round = 0; waiting.length > 0; round += 1) {
        const batch = waiting.slice(0, batches[round % batches.length]);
        const death = round < deaths.length ? (deaths[round] ?? null) : null;
        await bookOnce(
          batch.map(({ event }) => event),
          death,
          clock,
        );
        if (AFTER_THE_ROWS.includes(death)) for (const { index, act } of batch) model.take(index, act);
        // Unacknowledged events are redelivered after newer ones.
        const next = waiting.slice(batch.length);
        waiting = death === null ? next : [...next.slice(0, 3), ...batch.toReversed(), ...next.slice(3)];
      }
      await expectModel(org, model, clock.now());
    }),
    { numRuns: RUNS },
  );
  await expectBooksBalance(database.db);
});

test('a rejected refund leaves no log line, even if an interrupted batch wrote one', async () => {
  const org = 'org_cut';
  const clock = new FakeClock(START + HOURS * HOUR_MS);
  const charge = eventOf(org, 0, { what: 'charge', at: 1, cost: 30 });
  const refund = eventOf(org, 0, { what: 'refund', at: 2, number: 1, by: 1, amount: 20 });
  const taken = eventOf(org, 0, { what: 'void', at: 3 });
  await bookOnce([charge, refund, taken], 'logs', clock);
  for (const event of [taken, charge, refund]) await bookOnce([event], null, clock);
  const { ledger, logs } = database.store;
  expect((await ledger.find({ org }).sort({ n: 1 }).toArray()).map(({ _id, cost }) => [_id, cost])).toEqual([
    [taken.id, 0n],
    [charge.id, 0n],
  ]);
  expect(await logs.find({ org }, { projection: { cost: 1, status: 1 } }).toArray()).toEqual([
    { _id: charge.id, cost: 0n, status: 'voided' },
  ]);
});

async function bookOnce(events: readonly Event[], death: Step | null, clock: FakeClock): Promise<void> {
  const onStep = (step: Step) => {
    if (step === death) throw new Death();
  };
  const writer = new LedgerWriter({ store: database.store, logger, clock, onStep });
  await writer.recover();
  const entries = events.flatMap((event) => entryOf(event) ?? []);
  await writer.append(entries).catch((error: unknown) => {
    if (!(error instanceof Death)) throw error;
  });
}

async function expectModel(org: string, { moved, calls }: Model, now: number): Promise<void> {
  await new LedgerWriter({ store: database.store, logger }).recover(); // folds rows left by the last crash
  const { ledger, logs } = database.store;
  const net = moved.reduce((sum, { cost }) => sum + cost, 0n);
  const expected = byQuarter(moved);
  expect(byQuarter(await ledger.find({ org }).toArray()), 'the ledger').toEqual(expected);
  expect(byQuarter(await logs.find({ org }).toArray()), 'the logs').toEqual(expected);
  const range = { from: new Date(START).toISOString(), to: new Date(START + HOURS * HOUR_MS).toISOString() };
  for (const interval of ['minute', 'hour', 'day', 'month'] as const) {
    const usage = await readUsage(database.store, org, usageRange({ ...range, interval }, now));
    expect([parseDollars(usage.total.cost), usage.total.calls], interval).toEqual([net, calls]);
    if (interval === 'hour') expect(byHour(usage.data), 'usage by the hour').toEqual(byHour(toRows(moved)));
  }
  let total = 0n;
  for (const month of MONTHS)
    total += parseDollars((await readStatement(database.store, org, month, now)).total);
  expect(total, 'statements').toBe(net);
  const last = (await readSummaries(database.store, org, now)).at(-1);
  expect(last && parseDollars(last.closing_balance), 'the balance').toBe(CREDIT - net);
}

/** Sums per quarter of an hour. Zero sums are left out. */
function byQuarter(all: readonly { at: Date; cost: bigint }[]): Map<number, bigint> {
  const sums = new Map<number, bigint>();
  for (const { at, cost } of all) {
    const quarter = Math.floor(at.getTime() / QUARTER_MS);
    sums.set(quarter, (sums.get(quarter) ?? 0n) + cost);
  }
  return new Map([...sums].filter(([, sum]) => sum !== 0n).sort(([a], [b]) => a - b));
}

function toRows(moved: Model['moved']) {
  return moved.map(({ at, cost }) => ({ from: at.toISOString(), cost }));
}

function byHour(all: readonly { from?: string | undefined; cost: number | bigint }[]): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { from, cost } of all) {
    const hour = (from ?? '').slice(0, 'yyyy-mm-ddThh'.length);
    sums.set(hour, (sums.get(hour) ?? 0n) + (typeof cost === 'bigint' ? cost : parseDollars(cost)));
  }
  return new Map([...sums].filter(([, sum]) => sum !== 0n).sort(([a], [b]) => (a < b ? -1 : 1)));
}
