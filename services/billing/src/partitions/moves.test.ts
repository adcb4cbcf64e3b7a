// Repeated splits of billing under traffic, killed at each step: nothing is lost or doubled, each org is in one
// partition at a time, and every answer includes all data of its org.
import { randomBytes } from 'node:crypto';
import { openBucket, unbookedShare } from '@switchyard/bus';
import {
  type Event,
  eventIds,
  makeEvent,
  type PartitionCount,
  partitionOf,
  placeOf,
} from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { untilMidnightIsFar } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOLD_WAIT_MS_MAX } from '../accounts/hold-desk.ts';
import { audit } from '../audit/audit.ts';
import { startBooking } from '../fixtures/booking.ts';
import { expectBooked, expectBooksBalance } from '../fixtures/books.ts';
import { completed, credited, mixedEvents, ORG, voided } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import type { TestBilling } from '../fixtures/running-billing.ts';
import { entryOf } from '../store/entry-of.ts';
import { LedgerWriter } from '../store/ledger-writer.ts';
import { AnotherWriter } from '../store/mongo-errors.ts';
import { askToMove, readLayout } from './layout.ts';
import { type MoveStep, move } from './move.ts';
import { partitionsOf } from './partition.ts';
import { partitionsCommand } from './partitions-command.ts';

/** The two orgs of `mixedEvents`; with two partitions, each has one. */
const ORGS = [ORG, 'org_b'] as const;
const STEPS: readonly MoveStep[] = ['free', 'fenced', 'positioned', 'moved'];
const UNCHANGED_MS = 500;
const EVENTS_PER_ROUND = 40;
const DAY_MS = 86_400_000;
const DAYS = { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' };

const logger = makeLogger('partitions-test', 'silent');
let installation: TestInstallation;
let billing: TestBilling[] = [];
const events: Event[] = [];
let seed = 1;

beforeAll(async () => {
  installation = await startInstallation();
});

afterAll(async () => {
  await stopAll();
  await installation?.stop();
});

async function start(): Promise<TestBilling> {
  const started = await installation.startBilling({ unchangedMs: UNCHANGED_MS });
  billing.push(started);
  return started;
}

async function stopAll(): Promise<void> {
  await Promise.all(billing.map((one) => one.stop()));
  billing = [];
}

const command = (to?: PartitionCount) =>
  partitionsCommand(to === undefined ? undefined : String(to), commandOptions());

const commandOptions = () => ({
  bus: installation.client.bus,
  store: installation.database.store,
  clock: systemClock,
  logger,
});

/** Publishes a round of mixed events, and every tenth of them twice. */
async function publish(): Promise<Event[]> {
  const round = mixedEvents(EVENTS_PER_ROUND, seed++, 2);
  events.push(...round);
  await installation.client.publish(...round);
  await installation.client.publish(...round.filter((_, i) => i % 10 === 0));
  return round;
}

/** The partitions that hold the rows of these events. */
async function placesOf(round: readonly Event[], org: string): Promise<string[]> {
  const ids = round.filter(({ data }) => data.org === org).map(({ id }) => id);
  return (await installation.database.store.ledger.distinct('p', { _id: { $in: ids } })).sort();
}

/** A new org in this one of two partitions. */
function orgOf(partition: number): string {
  for (;;) {
    const org = `org_${randomBytes(6).toString('hex')}`;
    if (partitionOf(placeOf(org), 2) === partition) return org;
  }
}

async function owners(): Promise<(string | null)[]> {
  const leases = await openBucket(installation.client.bus, 'leases');
  const layout = await readLayout(installation.database.store);
  return Promise.all(
    partitionsOf(layout).map(async ({ lease }) => (await leases.get(lease))?.value.owner ?? null),
  );
}

test('the orgs of these tests are in different partitions', () => {
  expect(ORGS.map((org) => partitionOf(placeOf(org), 2))).toEqual([0, 1]);
});

describe('an installation', () => {
  test('has one partition by default', async () => {
    const first = await start();
    await publish();
    await installation.client.caughtUp(...ORGS);
    expect(await command()).toBe(
      `layout 0: 1 partition\np0  owned by ${first.bus.instance}  0 events waiting\n`,
    );
    await expect(partitionsCommand('3', commandOptions())).rejects.toThrow('--to 1|2|4|8|16');
  });

  test('is split under traffic; one process owns both partitions and answers everything', async () => {
    const [said] = await Promise.all([command(2), publish()]);
    expect(said).toContain('layout 1: 2 partitions');
    const after = await publish();
    await installation.client.caughtUp(...ORGS);
    expect(await placesOf(after, ORGS[0])).toEqual(['p0']);
    expect(await placesOf(after, ORGS[1])).toEqual(['p1']);
    await expect.poll(async () => new Set(await owners())).toEqual(new Set([billing[0]?.bus.instance]));
  });

  test('gives a partition to a second process; both book their own orgs', async () => {
    const second = await start();
    await expect
      .poll(async () => (await owners()).sort())
      .toEqual(billing.map(({ bus }) => bus.instance).sort());
    const round = await publish();
    await installation.client.caughtUp(...ORGS);
    for (const [i, org] of ORGS.entries()) expect(await placesOf(round, org)).toEqual([`p${i}`]);
    expect(await command()).toContain(`owned by ${second.bus.instance}  0 events waiting`);
  });

  test('shows an operator the changes of all orgs in the audit log, also of the other partition', async () => {
    const event = makeEvent({
      ...{ name: 'key.created', id: eventIds.key('key_far', 'created'), source: '/test', time: new Date() },
      data: { key_id: 'key_far', org: ORGS[1], by_key_id: null },
    });
    await installation.client.publish(event);
    const asked = { org: ORGS[0], key_id: 'key_1', all_orgs: true, query: { org: ORGS[1] } };
    const { data } = await installation.client.ask('audit-log.list', asked);
    expect(data.map(({ id }) => id)).toContain(event.id);
  });

  test('loses one of its processes, and the other takes over', async () => {
    const [first, second] = billing;
    await second?.stop();
    billing = first ? [first] : [];
    await publish();
    await installation.client.caughtUp(...ORGS);
    await expect.poll(owners).toEqual([first?.bus.instance, first?.bus.instance]);
    expect(await command(2)).toContain('layout 1: 2 partitions'); // already split into 2
  });
});

test.each(STEPS.map((step, i) => [step, i % 2 === 0 ? 1 : 2] as const))(
  'a move killed when it was %s, to %i, is finished once by the next process',
  async (step, to) => {
    await stopAll();
    const before = await readLayout(installation.database.store);
    await publish();
    const layout = await askToMove(installation.database.store, to);
    const killed = move(layout, {
      ...{ bus: installation.client.bus, store: installation.database.store, logger, now: Date.now },
      onStep: (done) => {
        if (done === step) throw new Error(`killed when it was ${step}`);
      },
    });
    await expect(killed).rejects.toThrow('killed');
    await publish();
    await Promise.all([start(), ...(to === 1 ? [] : [start()]), command(to)]);
    const after = await publish();
    await installation.client.caughtUp(...ORGS);
    for (const org of ORGS) expect(await placesOf(after, org)).toEqual([`p${partitionOf(placeOf(org), to)}`]);
    expect(await readLayout(installation.database.store)).toMatchObject({
      ...{ epoch: before.epoch + 1, partitions: to, ever: 2, moving_to: null },
    });
    const fences = installation.database.store.ledger.find({
      kind: 'fence',
      _id: new RegExp(`^fence:${before.epoch + 1}:`),
    });
    expect((await fences.toArray()).map(({ p }) => p).sort()).toEqual(['p0', 'p1']);
    await stopAll();
  },
);

test('booked events stay booked for the edges when the command moves while billing is stopped', async () => {
  await start();
  await publish();
  await installation.client.caughtUp(...ORGS);
  await stopAll();
  const { partitions } = await readLayout(installation.database.store);
  await command(partitions === 1 ? 2 : 1);
  expect(await unbookedShare(installation.client.bus, Date.now() + 6 * DAY_MS)).toBe(0);
});

test('a writer of the former layout that wakes after the fence writes nothing and stops booking', async () => {
  await stopAll();
  const { store } = installation.database;
  await command(1);
  const asleep = new LedgerWriter({ store, logger });
  await asleep.recover();
  await command(2);
  const rows = await store.ledger.countDocuments();
  const late = completed('req_asleep', 5n);
  const entry = entryOf(late);
  await expect(asleep.append(entry ? [entry] : [])).rejects.toBeInstanceOf(AnotherWriter);
  expect(await store.ledger.countDocuments()).toBe(rows);

  events.push(late);
  await installation.client.publish(late);
  const logged = Promise.withResolvers<void>();
  const telling = Object.assign(makeLogger('asleep', 'silent'), {
    info: (fields: object) => 'reason' in fields && logged.resolve(),
  });
  const booking = await startBooking({ bus: installation.client.bus, store, logger: telling });
  await logged.promise;
  await booking.stop();
  expect(await store.ledger.countDocuments()).toBe(rows);
  await start();
  await installation.client.caughtUp();
  expect(await store.ledger.countDocuments()).toBe(rows + 1);
});

describe('an org that has been in two partitions', () => {
  const org = ORGS[1];
  const ask = { org, key_id: 'key_1' };

  test('has a charge in one and its void in the other, which add up to zero', async () => {
    await command(1);
    const before = await installation.client.usage(DAYS, org);
    const [charge, taken] = [completed('req_across', 7_000n, { org }), voided('req_across', { org })];
    await installation.client.publish(charge);
    await installation.client.caughtUp(org);
    await command(2);
    await installation.client.publish(taken, charge);
    await installation.client.caughtUp(org);
    events.push(charge, taken);
    expect((await installation.database.store.ledger.findOne({ _id: charge.id }))?.p).toBe('p0');
    expect(await installation.database.store.ledger.findOne({ _id: taken.id })).toMatchObject({
      p: 'p1',
      cost: -7_000n,
    });
    expect((await installation.client.usage(DAYS, org)).total).toEqual(before.total);
  });

  test('has one limit and one statement line for both', async () => {
    await untilMidnightIsFar();
    const time = new Date();
    const more = ['x1', 'x2', 'x3', 'x4'].map((id) =>
      completed(`req_${id}`, 1_000_000_000n, { org, time, key_id: 'key_both', model: 'acme/both-1' }),
    );
    for (const [i, event] of more.entries()) {
      await installation.client.publish(event);
      await installation.client.caughtUp(org);
      if (i === 1) await command(1);
    }
    events.push(...more);
    expect((await installation.database.store.ledger.distinct('p', { key: 'key_both' })).sort()).toEqual([
      'p0',
      'p1',
    ]);
    expect(await installation.client.ask('keys.spending', { ...ask, id: 'key_both' })).toMatchObject({
      spent: 4,
    });

    const month = time.toISOString().slice(0, 7);
    const { lines } = await installation.client.ask('statements.get', { ...ask, month });
    const [line, ...others] = lines.filter(({ model }) => model === 'acme/both-1');
    expect(others).toEqual([]);
    expect(line).toMatchObject({ calls: 4, amount: 4 });
    const listed: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { limit: 1, ...(cursor === undefined ? {} : { cursor }) };
      const page = await installation.client.ask('statements.events', {
        ...ask,
        month,
        line: line?.id ?? '',
        query,
      });
      listed.push(...page.data.map(({ event }) => event));
      cursor = page.next_cursor;
    }
    expect(listed.sort()).toEqual(more.map(({ id }) => id).sort());
  });
});

test('budgets are exact to the call over two moves: of 200 calls on 50 each, 50 each pass', async () => {
  const cost = 1_000n;
  const orgs = await openBucket(installation.client.bus, 'orgs');
  const { epoch } = await readLayout(installation.database.store);
  const prepaid = [orgOf(0), orgOf(1)];
  for (const org of prepaid) {
    await orgs.put(org, orgRecord(org, { billing: 'prepaid', monthly_limit: null }));
    await installation.client.publish(credited(`crd_${org}`, 50n * cost, { org }));
    await expect
      .poll(() => installation.client.ask('account.get', { org, key_id: 'key_1' }))
      .toMatchObject({ balance: 0.00005 });
    // Billing reads the record through a watch: this call passes once a limit applies.
    const probe = { org, key_id: 'key_1', call: `req_${org}_probe` };
    await expect
      .poll(() => installation.client.ask('holds.take', { ...probe, amount_nano: '1', exact: false }))
      .toMatchObject({ granted_nano: '1' });
    await installation.client.ask('holds.settle', { org, call: probe.call, cost_nano: '0' });
  }
  const held = new Map<string, { org: string; key_id: string; call: string; amount_nano: string }>();
  const renewing = setInterval(() => {
    for (const [place, holds] of Map.groupBy(held.values(), ({ org }) => placeOf(org)))
      installation.client.ask('holds.renew', { place, holds }).catch(() => {}); // fails while no owner is there
  }, 200);
  let letIn = 0;
  const moves: Promise<string>[] = [];
  const call = async (org: string, i: number): Promise<string> => {
    const id = `req_${org}_${i}`;
    const hold = { org, key_id: 'key_1', call: id, amount_nano: String(3n * cost) };
    for (;;) {
      const askedAt = performance.now();
      try {
        await installation.client.ask('holds.take', { ...hold, exact: false });
        break;
      } catch (error) {
        const { code } = error as { code: string };
        // A settlement lost during a move is replaced by the end of its lease: a call that timed out meanwhile retries.
        const isLate = performance.now() - askedAt >= HOLD_WAIT_MS_MAX;
        if (code !== 'service_unavailable' && !isLate) return code;
      }
    }
    held.set(id, hold);
    letIn += 1;
    // At most 32 of 100 calls hold at once, so calls run before, during and after each move.
    if (letIn === 20) moves.push(command(2));
    if (letIn === 60) moves.push(command(1));
    await moves.at(-1);
    await installation.client.publish(completed(id, cost, { org, time: new Date() }));
    held.delete(id);
    const settled = { org, call: id, cost_nano: String(cost) };
    await installation.client.ask('holds.settle', settled).catch(() => {}); // the lease ends the hold otherwise
    return 'ok';
  };
  const outcomes = await Promise.all(
    prepaid.map((org) => Promise.all(Array.from({ length: 200 }, (_, i) => call(org, i)))),
  );
  clearInterval(renewing);
  expect(moves).toHaveLength(2);
  expect(await moves[1]).toContain(`layout ${epoch + 2}: 1 partition`);
  for (const of of outcomes) {
    expect(of.filter((one) => one === 'ok')).toHaveLength(50);
    expect(of.filter((one) => one === 'insufficient_funds')).toHaveLength(150);
  }
  for (const org of prepaid)
    await expect
      .poll(() => installation.client.ask('account.get', { org, key_id: 'key_1' }))
      .toMatchObject({ balance: 0, held: 0, spent: 0.00005 });
});

test('an unknown layout is not changed: its owner returns the partition, and no process takes it', async () => {
  const { layout } = installation.database.store;
  const known = await layout.findOneAndUpdate({}, { $set: { partitions: 3 } });
  const leases = await openBucket(installation.client.bus, 'leases');
  await expect.poll(() => leases.get('billing-p0')).toBeNull();
  await expect(command(2)).rejects.toThrow('split into 3 partitions; this release knows 1, 2, 4, 8, 16');
  await layout.updateOne({}, { $set: { partitions: known?.partitions ?? 1 } });
  await installation.client.caughtUp(...ORGS);
});

test('in the end the books balance, every event is booked once, and the audit reports zero drift', async () => {
  await installation.client.caughtUp(...ORGS);
  const { db, store } = installation.database;
  await expectBooked(db, events, await store.ledger.countDocuments({ org: { $nin: [...ORGS] } }));
  await expectBooksBalance(db);
  const workDb = db.client.db(`audit_${randomBytes(8).toString('hex')}`);
  try {
    const report = await audit({ bus: installation.client.bus, store, workDb, idle: true });
    expect(report.named).toEqual([]);
    expect(report.drifts).toBe(0);
    expect(Object.keys(report.up_to)).toEqual(['p0', 'p1']);
  } finally {
    await workDb.dropDatabase();
  }
});
