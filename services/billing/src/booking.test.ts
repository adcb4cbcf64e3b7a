// Reads while batches are in progress.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { driftOf, orgWindow } from './audit/org-window.ts';
import { startBooking, storeInTurn } from './fixtures/booking.ts';
import { completed, ORG } from './fixtures/events.ts';
import { startInstallation, type TestInstallation } from './fixtures/installation.ts';

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
});

afterAll(() => installation?.stop());

test('sums are read only while no batch is in progress', async () => {
  const gate = Promise.withResolvers<void>();
  const { client, database } = installation;
  const behindGate = storeInTurn(database.store, () => gate.promise);
  const booking = await startBooking({ bus: client.bus, store: behindGate });
  await client.publish(completed('req_booked', 1_000n, { time: new Date() }));
  await expect.poll(() => database.store.logs.findOne({ _id: 'req_booked' })).not.toBeNull();
  const reading = booking.accounts.lock.run(() => orgWindow(database.store, ORG, Date.now(), null));
  gate.resolve();
  const window = await reading;
  expect(window).toMatchObject({ ledger: 1_000n, logs: 1_000n, usage: 1_000n });
  expect(window && driftOf(window)).toBe(0n);
  await booking.stop();
});
