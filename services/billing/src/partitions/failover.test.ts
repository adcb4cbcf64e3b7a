// Two billing processes with a partition each, killed under load and during a move.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { BUCKETS, openBucket } from '@switchyard/bus';
import { BOOKING_CONSUMER, type Event } from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectBooked, expectBooksBalance } from '../fixtures/books.ts';
import { completed, mixedEvents, ORG } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { readLayout } from './layout.ts';
import { Partition, partitionsOf } from './partition.ts';
import { partitionsCommand } from './partitions-command.ts';
import { FREE_MS_MAX } from './shares.ts';

const BILLING = fileURLToPath(new URL('../main.ts', import.meta.url));
const COMMAND = fileURLToPath(new URL('./main.ts', import.meta.url));
/** A dead owner's partitions are free when its lease expires, and owned again at most this long after its death. */
const OWNED_AGAIN_MS = BUCKETS.leases.ttlMs + FREE_MS_MAX;
const OWNED_AGAIN_MS_MAX = 10_000;
/** Time from the death of an owner to the first answer of the next: about 6 s, longer on a busy machine. */
const FAILOVER_MS_MAX = 50_000;
/** With two partitions, each has one of these orgs. */
const ORGS = [ORG, 'org_b'] as const;
const EVENTS_PER_ROUND = 60;

const logger = makeLogger('failover-test', 'silent');
let installation: TestInstallation;
let folder: string;
const running = new Set<ChildProcess>();
const events: Event[] = [];
let seed = 1_000;

beforeAll(async () => {
  [installation, folder] = await Promise.all([startInstallation(), temporaryFolder('failover')]);
});

afterAll(async () => {
  await Promise.all([...running].map(kill9));
  await installation?.stop();
  await rm(folder, { recursive: true, force: true });
});

function run(program: string, ...words: string[]): ChildProcess {
  const servers = {
    NATS_URL: installation.nats.url,
    MONGODB_URL: installation.database.url,
    SWITCHYARD_DATA: folder,
    SWITCHYARD_LOG_DAYS: '0', // events of tests have a fixed date
  };
  const env = { ...process.env, ...servers, LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent' };
  const child = fork(program, words, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

async function kill9(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** The owner of each partition; null: none. */
async function owners(): Promise<(string | null)[]> {
  const leases = await openBucket(installation.client.bus, 'leases');
  const layout = await readLayout(installation.database.store);
  return Promise.all(
    partitionsOf(layout).map(async ({ lease }) => (await leases.get(lease))?.value.owner ?? null),
  );
}

/** Starts two processes with a partition each. Returns the owner of the first partition, then the other process. */
async function startTwo(): Promise<[owner: ChildProcess, other: ChildProcess]> {
  const two = [run(BILLING), run(BILLING)] as const;
  await Promise.all(two.map((child) => once(child, 'message'))); // ready
  await vi.waitFor(
    async () => {
      const two = new Set(await owners());
      expect(two.has(null)).toBe(false);
      expect(two.size).toBe(2);
    },
    { timeout: 60_000 },
  );
  return [two[0], two[1]];
}

async function publish(): Promise<void> {
  const round = mixedEvents(EVENTS_PER_ROUND, seed++, 2);
  events.push(...round);
  await installation.client.publish(...round);
}

test('the successor of a killed owner books and answers soon', async () => {
  const options = {
    bus: installation.client.bus,
    store: installation.database.store,
    clock: systemClock,
    logger,
  };
  await partitionsCommand('2', options);
  const [victim] = await startTwo();
  await publish();
  await installation.client.caughtUp(...ORGS);

  await publish();
  const killedAt = performance.now();
  await kill9(victim);
  await publish();
  await installation.client.caughtUp(...ORGS);
  expect(performance.now() - killedAt).toBeLessThan(FAILOVER_MS_MAX);
  expect(OWNED_AGAIN_MS).toBeLessThan(OWNED_AGAIN_MS_MAX);
  await expect
    .poll(async () => {
      const [first, second] = await owners();
      return first !== null && second === first;
    })
    .toBe(true);
  await expectBooked(
    installation.database.db,
    events,
    await installation.database.store.ledger.countDocuments({ kind: 'fence' }),
  );
  await expectBooksBalance(installation.database.db);
});

test('other processes finish a move whose command and one of whose owners are killed', async () => {
  const victim = run(BILLING);
  await once(victim, 'message');
  const before = await readLayout(installation.database.store);
  const command = run(COMMAND, '--to', '1');
  const isOn = async () => expect(await readLayout(installation.database.store)).not.toEqual(before);
  await vi.waitFor(isOn, { timeout: 60_000, interval: 10 });
  await Promise.all([kill9(command), kill9(victim), publish()]);
  await vi.waitFor(
    async () =>
      expect(await readLayout(installation.database.store)).toMatchObject({ partitions: 1, moving_to: null }),
    { timeout: 60_000 },
  );
  const last = completed('req_last', 5n);
  events.push(last);
  await installation.client.publish(last);
  await installation.client.caughtUp(...ORGS);
  const { db, store } = installation.database;
  expect((await store.ledger.findOne({ _id: last.id }))?.p).toBe('p0');
  await expectBooked(db, events, await store.ledger.countDocuments({ kind: 'fence' }));
  await expectBooksBalance(db);
  const layout = await readLayout(store);
  const consumers = await installation.client.bus.jsm.consumers.list('EVENTS').next();
  const booking = consumers.map(({ name }) => name).filter((name) => BOOKING_CONSUMER.test(name));
  expect(booking).toEqual([new Partition(0, layout).consumer]);
  const again = run(COMMAND, '--to', '1');
  expect(await once(again, 'exit')).toEqual([0, null]);
});
