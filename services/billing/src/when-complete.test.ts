// Sums that a batch left unfinished are not readable until they are recovered.
import { Lock, systemClock } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { Progress } from './progress.ts';
import { CALLER_MS_MAX, whenComplete } from './when-complete.ts';

function deps() {
  return { accounts: { lock: new Lock() }, progress: new Progress(), clock: systemClock };
}

test('complete sums are read at once, between two batches', async () => {
  const complete = deps();
  complete.progress.recovered();
  const booked: string[] = [];
  const batch = complete.accounts.lock.run(async () => {
    await new Promise(setImmediate);
    booked.push('batch');
  });
  await whenComplete(complete, async () => booked.push('read'));
  await batch;
  expect(booked).toEqual(['batch', 'read']);
});

test('after an interrupted batch, sums are read once they are recovered', async () => {
  const complete = deps();
  complete.progress.recovered();
  const failing = complete.accounts.lock.run(async () => {
    complete.progress.interrupted();
    throw new Error('the database is down');
  });
  failing.catch(() => {});
  let reads = 0;
  const reading = whenComplete(complete, async () => (reads += 1));
  await expect(failing).rejects.toThrow('down');
  await complete.accounts.lock.run(async () => {});
  expect(reads).toBe(0);
  complete.progress.recovered();
  expect(await reading).toBe(1);
});

test('a read whose turn comes after its caller has given up is left out', async () => {
  const clock = new FakeClock();
  const complete = { ...deps(), clock };
  complete.progress.recovered();
  const batch = Promise.withResolvers<void>();
  const booking = complete.accounts.lock.run(() => batch.promise);
  let reads = 0;
  const late = whenComplete(complete, async () => (reads += 1));
  clock.advance(CALLER_MS_MAX);
  const inTime = whenComplete(complete, async () => (reads += 1));
  batch.resolve();
  await booking;
  await expect(late).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 1 });
  expect(await inTime).toBe(1);
});

test('sums that are not recovered in time are not shown', async () => {
  await expect(whenComplete(deps(), async () => 'half')).rejects.toMatchObject({
    code: 'service_unavailable',
    message: 'The ledger cannot be read at the moment. Retry later.',
  });
});
