// An audit while billing is split anew: it has not seen all of it, and says so.
import { randomBytes } from 'node:crypto';
import { makeLogger, systemClock } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestStore, testDatabases } from '../fixtures/database.ts';
import { completed } from '../fixtures/events.ts';
import { runBilling, type TestBilling, TestClient } from '../fixtures/running-billing.ts';
import { partitionsCommand } from '../partitions/partitions-command.ts';
import type { Store } from '../store/store.ts';
import { audit } from './audit.ts';
import { CannotLook } from './stream-messages.ts';

const ORGS = ['org_a', 'org_b'] as const;
const logger = makeLogger('audit-test', 'silent');

let nats: TestServer;
let databases: Awaited<ReturnType<typeof testDatabases>>;
let database: TestStore;
let client: TestClient;
let billing: TestBilling;

beforeAll(async () => {
  [nats, databases] = await Promise.all([startNats(), testDatabases()]);
  database = await databases.open();
  client = await TestClient.connect(nats.url);
  billing = await runBilling(nats.url, database.url);
}, 60_000);

afterAll(async () => {
  await billing?.stop();
  await client?.close();
  await databases?.stop();
  await nats?.stop();
});

async function book(name: string): Promise<void> {
  await client.publish(
    ...ORGS.map((org) => completed(`req_${name}_${org}`, 1_000n, { org, time: new Date() })),
  );
  await client.caughtUp(...ORGS);
}

async function look(store = database.store, onStep: (step: string) => void = () => {}) {
  const workDb = database.db.client.db(`audit_${randomBytes(8).toString('hex')}`);
  try {
    return await audit({ bus: client.bus, store, workDb, looksMax: 2, onStep });
  } finally {
    await workDb.dropDatabase();
  }
}

/** The store, whose layout is not read before that is done. */
function storeAfter(done: () => Promise<unknown>): Store {
  const layout = new Proxy(database.store.layout, {
    get: (target, name) =>
      name === 'findOne'
        ? async (filter: object) => {
            await done();
            return target.findOne(filter);
          }
        : Reflect.get(target, name),
  });
  return { ...database.store, layout };
}

test('an audit during which billing is split reports no drift that there is not: it could not look', async () => {
  await book('before');
  const options = { bus: client.bus, store: database.store, clock: systemClock, logger };
  let splitting: Promise<unknown> = Promise.resolve();
  const looked = look(
    storeAfter(() => splitting),
    (step) => {
      if (step === 'the logs') splitting = partitionsCommand('2', options).then(() => book('meanwhile'));
    },
  );
  await expect(looked).rejects.toBeInstanceOf(CannotLook);
  await book('after');
  expect((await look()).named).toEqual([]);
}, 60_000);
