// Billing as a process, its database and its bus, each killed with SIGKILL under load.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createEventPublisher, openBucket, request } from '@switchyard/bus';
import type { Event } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type KillableBilling, killableBilling } from './fixtures/billing-process.ts';
import { expectBooked, expectBooksBalance } from './fixtures/books.ts';
import { completed, mixedEvents } from './fixtures/events.ts';
import { ONLY_PARTITION } from './partitions/partition.ts';

const RECOVERY_MS_MAX = 60_000;
const EVENTS_BETWEEN_KILLS = 60;
const ALL = { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' };

let installation: KillableBilling;
let billing: ChildProcess;

beforeAll(async () => {
  installation = await killableBilling();
  billing = await installation.start();
});

afterAll(() => installation?.stop());

async function killBilling(): Promise<void> {
  await installation.kill();
  billing = await installation.start();
}

/** The client repeats a question that billing cannot answer. */
const askedOnce = (client: KillableBilling['client'], org: string) =>
  request(client.bus, 'usage.get', { org, key_id: 'key_1', query: ALL });

test('kills of billing, of the database and of the bus lose nothing and double nothing', async () => {
  const { nats, database, store, client, folder } = installation;
  const logger = makeLogger('test', process.env.LOG_LEVEL ?? 'silent');
  const publisher = await createEventPublisher({ bus: client.bus, outboxDir: `${folder}/outbox`, logger });
  const events: Event[] = [];
  const publish = async (seed: number): Promise<Event[]> => {
    const more = mixedEvents(EVENTS_BETWEEN_KILLS, seed, 2);
    events.push(...more);
    for (const event of more) await publisher.publish(event);
    return more;
  };
  const accidents = [
    () => killBilling(),
    () => database.kill9().then(() => database.restart()),
    () => nats.kill9().then(() => nats.restart()),
    () => Promise.all([killBilling(), database.kill9().then(() => database.restart())]),
  ];
  for (const [i, accident] of accidents.entries()) {
    const published = await publish(2 * i);
    // Publishes a part again with new sequences, as after a publisher's restart.
    await client.publish(...published.filter((_, n) => n % 10 === 0));
    const underWay = accident();
    await publish(2 * i + 1);
    await underWay;
  }
  await vi.waitFor(() => expect(publisher.waiting).toBe(0), { timeout: RECOVERY_MS_MAX });
  await client.caughtUp();
  await expectBooked(store.db, events);
  await expectBooksBalance(store.db);
  await publisher.close();
}, 300_000);

test('a question gets a 503 while the database is down, then an answer from the same process', async () => {
  const { database, store, client } = installation;
  const before = (await client.usage(ALL, 'org_away')).total.calls;
  await database.kill9();
  await client.publish(completed('req_away', 1n, { org: 'org_away' }));
  await expect(askedOnce(client, 'org_away')).rejects.toMatchObject({ code: 'service_unavailable' });
  await database.restart();
  await vi.waitFor(async () => expect((await client.usage(ALL, 'org_away')).total.calls).toBe(before + 1), {
    timeout: RECOVERY_MS_MAX,
  });
  expect(billing.exitCode).toBeNull();
  await expectBooksBalance(store.db);
});

test('a silent database is given up, and its late writes count as those of another writer', async () => {
  const { database, store, client } = installation;
  const org = 'org_silent';
  const events = Array.from({ length: 30 }, (_, i) => completed(`req_silent${i}`, 1n, { org }));
  process.kill(database.pid, 'SIGSTOP');
  try {
    await client.publish(...events);
    // Answered only after billing has timed out on the database.
    await expect(askedOnce(client, org)).rejects.toMatchObject({ code: 'service_unavailable' });
  } finally {
    process.kill(database.pid, 'SIGCONT');
  }
  await vi.waitFor(async () => expect((await client.usage(ALL, org)).total.calls).toBe(events.length), {
    timeout: RECOVERY_MS_MAX,
  });
  await expectBooksBalance(store.db);
});

test('on SIGTERM it exits by itself and releases the lease for the next instance', async () => {
  const gone = once(billing, 'exit');
  billing.kill('SIGTERM');
  expect(await gone).toEqual([0, null]);
  const { client } = installation;
  expect(await (await openBucket(client.bus, 'leases')).get(ONLY_PARTITION.lease)).toBeNull();
  billing = await installation.start();
  await client.caughtUp();
});
