// The ledger under faults, on a real MongoDB wire server.
import type { Event } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectBooked, expectBooksBalance } from '../fixtures/books.ts';
import { type TestStore, testDatabases } from '../fixtures/database.ts';
import { completed, metered, mixedEvents, ORG, randomFrom, refused, voided } from '../fixtures/events.ts';
import { entryOf } from './entry-of.ts';
import { LedgerWriter, type Step } from './ledger-writer.ts';
import { AnotherWriter } from './mongo-errors.ts';

const logger = makeLogger('billing-test', 'silent');
let databases: Awaited<ReturnType<typeof testDatabases>>;
beforeAll(async () => {
  databases = await testDatabases();
});
afterAll(() => databases.stop());

class Crash extends Error {}

function entriesOf(events: readonly Event[]) {
  return events.flatMap((event) => entryOf(event) ?? []);
}

/** A writer that has recovered. */
async function openWriter({ store }: TestStore, onStep?: (step: Step) => void | Promise<void>) {
  const writer = new LedgerWriter({ store, logger, ...(onStep ? { onStep } : {}) });
  await writer.recover();
  return writer;
}

/** Books each batch with a new writer. */
async function book(database: TestStore, ...batches: Event[][]): Promise<void> {
  for (const batch of batches) await (await openWriter(database)).append(entriesOf(batch));
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

describe('booking', () => {
  test('a free call has a ledger row, a refused call only a log row, a minute both', async () => {
    const database = await databases.open();
    const events = [
      completed('req_1', 0n),
      refused('req_2'),
      metered('cmp_1', 0, 77n),
      completed('req_3', 5n),
    ];
    await book(database, events);
    await expectBooked(database.db, events);
    await expectBooksBalance(database.db);
    const { ledger, logs } = database.store;
    expect((await ledger.find().sort({ n: 1 }).toArray()).map(({ _id }) => _id)).toEqual([
      'req_1',
      'cmp_1:1:0',
      'req_3',
    ]);
    expect(await ledger.findOne({ _id: 'cmp_1:1:0' })).toMatchObject({
      ...{ calls: 0n, cost: 77n, computer: 'cmp_1', type: 'computer', model: null },
      quantities: { minutes: 1_000n },
    });
    expect(await logs.findOne({ _id: 'req_2' })).toMatchObject({ status: 'refused', cost: 0n, org: ORG });
  });

  test('a call that reached no model is in the log and not in the ledger', async () => {
    const database = await databases.open();
    const call = completed('req_1', 0n, {
      ...{ model: null, maker: null, attempts: [], status: 'refused', http_status: 503, quantities: {} },
    });
    await book(database, [call]);
    expect(await database.store.ledger.countDocuments()).toBe(0);
    expect(await database.store.logs.countDocuments()).toBe(1);
  });

  test('an id is booked once: in one batch, in a later one, and after a restart', async () => {
    const database = await databases.open();
    const call = completed('req_1', 42n);
    await book(database, [call, call], [call], [completed('req_2', 1n), call]);
    await expectBooked(database.db, [call, completed('req_2', 1n)]);
    await expectBooksBalance(database.db);
  });

  test('the same id at another cost changes nothing and is reported', async () => {
    const database = await databases.open();
    const writer = await openWriter(database);
    await writer.append(entriesOf([completed('req_1', 42n)]));
    const conflicts = await writer.append(entriesOf([completed('req_1', 43n)]));
    expect(conflicts.map(({ reason }) => reason)).toEqual(['it was booked at 42 nano-dollars, not 43']);
    await expectBooked(database.db, [completed('req_1', 42n)]);
  });

  test('a completed call replaces a refusal with the same id, in either order', async () => {
    const database = await databases.open();
    await book(
      database,
      [refused('req_1')],
      [completed('req_1', 9n), completed('req_2', 8n)],
      [refused('req_2'), refused('req_3'), completed('req_3', 7n)],
    );
    await expectBooked(database.db, [completed('req_1', 9n), completed('req_2', 8n), completed('req_3', 7n)]);
    await expectBooksBalance(database.db);
  });
});

describe('a void', () => {
  const call = completed('req_1', 42n);
  const other = completed('req_2', 7n);
  const take = voided('req_1');

  test.each([
    ['after its charge', [[call, other], [take]]],
    ['before its charge', [[take, other], [call]]],
    ['after its charge in one batch', [[call, take, other]]],
    ['before its charge in one batch', [[take, call, other]]],
    ['again and again', [[call], [take, take], [call, take, other], [take]]],
  ])('nets its charge: %s', async (_, batches) => {
    const database = await databases.open();
    await book(database, ...batches);
    await expectBooked(database.db, [call, other, take]);
    await expectBooksBalance(database.db);
    expect(await database.store.logs.findOne({ _id: 'req_1' })).toMatchObject({
      ...{ status: 'voided', cost: 0n, voided_cost: 42n },
    });
    const total = await database.store.aggregates.days.findOne({ family: 'total' });
    expect(total).toMatchObject({ calls: 1n, cost: 7n });
  });

  test('without a charge costs nothing and has no log line', async () => {
    const database = await databases.open();
    await book(database, [take]);
    expect(await database.store.logs.countDocuments()).toBe(0);
    expect(await database.store.aggregates.days.countDocuments()).toBe(0);
    await expectBooksBalance(database.db);
  });

  test('of another org touches nothing, in either order', async () => {
    const database = await databases.open();
    const foreign = (id: string) => voided(id, { org: 'org_b' });
    const writer = await openWriter(database);
    await writer.append(entriesOf([call]));
    expect(await writer.append(entriesOf([foreign('req_1')]))).toHaveLength(1);
    await writer.append(entriesOf([foreign('req_2')]));
    await writer.append(entriesOf([other]));
    await expectBooksBalance(database.db);
    expect(await database.store.aggregates.days.findOne({ family: 'total', org: ORG })).toMatchObject({
      ...{ calls: 2n, cost: 49n },
    });
  });

  test('that arrives between two attempts to book its charge leaves the log row voided', async () => {
    const database = await databases.open();
    const dying = await openWriter(database, (step) => {
      if (step === 'logs') throw new Crash();
    });
    await expect(dying.append(entriesOf([call]))).rejects.toThrow(Crash);
    await book(database, [take], [call, other]);
    await expectBooked(database.db, [call, other, take]);
    await expectBooksBalance(database.db);
  });
});

describe('a crash', () => {
  const steps: Step[] = ['known', 'logs', 'rows', 'folded', 'checkpoint'];

  test.each(steps)('after "%s" loses and doubles nothing, whatever comes with the redelivery', async (at) => {
    const database = await databases.open();
    const events = mixedEvents(80, 7);
    const batches = chunks(events, 4);
    let rounds = 0;
    const dying = await openWriter(database, (step) => {
      if (step === at && (at === 'checkpoint' || ++rounds === 3)) throw new Crash();
    });
    const redelivered: Event[] = [];
    for (const [i, batch] of batches.entries())
      try {
        await dying.append(entriesOf(batch));
      } catch (error) {
        expect(error).toBeInstanceOf(Crash);
        // Newer messages may overtake unacknowledged ones.
        redelivered.push(...batch);
        await book(database, [...(batches[i + 1] ?? []), ...redelivered], batches.slice(i + 2).flat());
        break;
      }
    expect(redelivered).not.toEqual([]);
    await expectBooked(database.db, events);
    await expectBooksBalance(database.db);
  });

  test('in the middle of the ledger rows leaves no gap', async () => {
    const database = await databases.open();
    const events = mixedEvents(40, 11);
    const { store } = database;
    const cut = Object.create(store.ledger) as typeof store.ledger;
    cut.insertMany = async (rows, options) => {
      await store.ledger.insertMany(rows.slice(0, 7), options);
      throw new Crash();
    };
    const dying = await openWriter({ ...database, store: { ...store, ledger: cut } });
    await expect(dying.append(entriesOf(events))).rejects.toThrow(Crash);
    await expect(dying.append([])).rejects.toThrow('recover before');
    await book(database, events.toReversed());
    await expectBooked(database.db, events);
    await expectBooksBalance(database.db);
  });
});

describe('two writers at once', () => {
  test('a writer that was asleep finds its number taken and writes nothing', async () => {
    const database = await databases.open();
    let wake = () => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const zombie = await openWriter(database, (step) => (step === 'logs' ? asleep : undefined));
    const late = zombie.append(entriesOf([completed('req_1', 5n)]));
    await book(database, [voided('req_1'), completed('req_2', 6n)]);
    wake();
    await expect(late).rejects.toThrow(AnotherWriter);
    await book(database, [completed('req_1', 5n)]);
    await expectBooked(database.db, [voided('req_1'), completed('req_1', 5n), completed('req_2', 6n)]);
    await expectBooksBalance(database.db);
  });

  test('a writer that fell asleep before folding folds nothing twice', async () => {
    const database = await databases.open();
    let wake = () => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    let atRows = () => {};
    const written = new Promise<void>((resolve) => {
      atRows = resolve;
    });
    const zombie = await openWriter(database, (step) => {
      if (step !== 'rows') return undefined;
      atRows();
      return asleep;
    });
    const late = zombie.append(entriesOf([completed('req_1', 5n)]));
    await written;
    await book(database, [completed('req_2', 6n)]);
    wake();
    await late;
    await expect(zombie.append(entriesOf([completed('req_3', 7n)]))).rejects.toThrow(AnotherWriter);
    await book(database, [completed('req_3', 7n)]);
    await expectBooksBalance(database.db);
    expect(await database.store.ledger.countDocuments()).toBe(3);
  });

  test('that race through the same events book each once', async () => {
    const database = await databases.open();
    const events = mixedEvents(200, 23);
    let exits = 0;
    const race = async (seed: number) => {
      const random = randomFrom(seed);
      const jitter = () => new Promise<void>((resolve) => setTimeout(resolve, random() * 4));
      const writer = new LedgerWriter({ store: database.store, logger, onStep: jitter });
      let isReady = false;
      for (const batch of chunks(events, 15))
        for (;;)
          try {
            if (!isReady) await writer.recover();
            isReady = false;
            await writer.append(entriesOf(batch));
            isReady = true;
            break;
          } catch (error) {
            if (!(error instanceof AnotherWriter)) throw error;
            exits += 1;
          }
    };
    await Promise.all([race(1), race(2)]);
    expect(exits).toBeGreaterThan(0);
    await expectBooked(database.db, events);
    await expectBooksBalance(database.db);
  });
});

test('a ledger that lost a row is not folded beyond the gap', async () => {
  const database = await databases.open();
  await book(database, [completed('req_1', 1n)], [completed('req_2', 1n)], [completed('req_3', 1n)]);
  await openWriter(database); // writes the checkpoint
  await database.store.ledger.deleteOne({ _id: 'req_3' });
  await expect(openWriter(database)).rejects.toThrow('row 3 of p0 was folded once and is missing now');
  await database.store.checkpoints.deleteMany({});
  await database.store.ledger.deleteOne({ _id: 'req_1' });
  await expect(openWriter(database)).rejects.toThrow('row 1 of p0 is missing');
});
