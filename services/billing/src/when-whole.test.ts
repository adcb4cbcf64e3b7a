// What is read of sums that a batch has left unfinished: nothing, until they are recovered.
import { systemClock } from '@switchyard/service';
import { expect, test } from 'vitest';
import { StillPoint } from './accounts/still-point.ts';
import { Progress } from './progress.ts';
import { whenWhole } from './when-whole.ts';

function deps() {
  return { accounts: { still: new StillPoint() }, progress: new Progress(), clock: systemClock };
}

test('sums that are whole are read at once, between two batches', async () => {
  const on = deps();
  on.progress.recovered();
  const booked: string[] = [];
  const batch = on.accounts.still.run(async () => {
    await new Promise(setImmediate);
    booked.push('batch');
  });
  await whenWhole(on, async () => booked.push('read'));
  await batch;
  expect(booked).toEqual(['batch', 'read']);
});

test('after a batch that was cut short they are read when they are recovered', async () => {
  const on = deps();
  on.progress.recovered();
  const failing = on.accounts.still.run(async () => {
    on.progress.interrupted();
    throw new Error('the database is away');
  });
  failing.catch(() => {});
  let reads = 0;
  const reading = whenWhole(on, async () => (reads += 1));
  await expect(failing).rejects.toThrow('away');
  await on.accounts.still.run(async () => {});
  expect(reads).toBe(0);
  on.progress.recovered();
  expect(await reading).toBe(1);
});

test('sums that are not recovered in time are not shown', async () => {
  await expect(whenWhole(deps(), async () => 'half')).rejects.toMatchObject({ code: 'service_unavailable' });
});
