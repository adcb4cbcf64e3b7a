// A batch that cannot be booked, and the events that arrive meanwhile.
import { startNats } from '@switchyard/testing';
import { expect, onTestFinished, test } from 'vitest';
import { driftOf, orgWindow } from './audit/org-window.ts';
import { startBooking, storeInTurn } from './fixtures/booking.ts';
import { testDatabases } from './fixtures/database.ts';
import { completed, ORG } from './fixtures/events.ts';
import { TestClient } from './fixtures/running-billing.ts';

test('a batch that cannot be booked and the events after it are redelivered and booked once', async () => {
  const [nats, databases] = await Promise.all([startNats(), testDatabases()]);
  onTestFinished(async () => {
    await Promise.all([nats.stop(), databases.stop()]);
  });
  const { store } = await databases.open();
  const client = await TestClient.connect(nats.url);
  onTestFinished(() => client.close());
  const first = Promise.withResolvers<void>();
  first.promise.catch(() => {}); // the writer may come to it later
  let attempts = 0;
  const inTurn = storeInTurn(store, async () => {
    attempts += 1;
    if (attempts === 1) await first.promise;
  });
  const booking = await startBooking({ bus: client.bus, store: inTurn });
  const ids = ['req_first', 'req_second', 'req_third', 'req_read'];
  for (const id of ids) {
    await client.publish(completed(id, 1_000n, { time: new Date() }));
    // The first batch waits at the ledger; the others arrive behind it.
    if (id === 'req_first') await expect.poll(() => store.logs.findOne({ _id: id })).not.toBeNull();
  }
  first.reject(new Error('the database did not take it'));
  await expect.poll(() => store.ledger.countDocuments()).toBe(ids.length);
  const rows = await store.ledger.find().sort({ n: 1 }).toArray();
  expect(rows.map(({ n }) => n)).toEqual([1n, 2n, 3n, 4n]);
  expect(new Set(rows.map(({ _id }) => _id))).toEqual(new Set(ids));
  const window = await booking.accounts.lock.run(() => orgWindow(store, ORG, Date.now(), null));
  expect(window).toMatchObject({ ledger: 4_000n, logs: 4_000n, usage: 4_000n });
  expect(window && driftOf(window)).toBe(0n);
  await booking.stop();
});
