// An audit during which billing is split reports that it could not check everything.
import { randomBytes } from 'node:crypto';
import { makeLogger, systemClock } from '@switchyard/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completed } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { partitionsCommand } from '../partitions/partitions-command.ts';
import type { Store } from '../store/store.ts';
import { audit } from './audit.ts';
import { AuditFailed } from './stream-messages.ts';

const ORGS = ['org_a', 'org_b'] as const;
const logger = makeLogger('audit-test', 'silent');

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
  await installation.startBilling();
});

afterAll(() => installation?.stop());

async function book(name: string): Promise<void> {
  await installation.client.publish(
    ...ORGS.map((org) => completed(`req_${name}_${org}`, 1_000n, { org, time: new Date() })),
  );
  await installation.client.caughtUp(...ORGS);
}

async function look(store = installation.database.store, onStep: (step: string) => void = () => {}) {
  const workDb = installation.database.db.client.db(`audit_${randomBytes(8).toString('hex')}`);
  try {
    return await audit({ bus: installation.client.bus, store, workDb, checksMax: 2, onStep });
  } finally {
    await workDb.dropDatabase();
  }
}

/** A store whose layout is read only after `done`. */
function storeAfter(done: () => Promise<unknown>): Store {
  const layout = new Proxy(installation.database.store.layout, {
    get: (target, name) =>
      name === 'findOne'
        ? async (filter: object) => {
            await done();
            return target.findOne(filter);
          }
        : Reflect.get(target, name),
  });
  return { ...installation.database.store, layout };
}

test('an audit during a split of billing reports no false drift: it fails', async () => {
  await book('before');
  const options = {
    bus: installation.client.bus,
    store: installation.database.store,
    clock: systemClock,
    logger,
  };
  let splitting: Promise<unknown> = Promise.resolve();
  const looked = look(
    storeAfter(() => splitting),
    (step) => {
      if (step === 'the logs') splitting = partitionsCommand('2', options).then(() => book('meanwhile'));
    },
  );
  await expect(looked).rejects.toBeInstanceOf(AuditFailed);
  await book('after');
  expect((await look()).named).toEqual([]);
});
