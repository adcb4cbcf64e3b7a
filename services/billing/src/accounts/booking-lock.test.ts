// Order of batches and reads of sums.
import { expect, test } from 'vitest';
import { BookingLock } from './booking-lock.ts';

test('batches and reads run alone, in the order of the requests', async () => {
  const lock = new BookingLock();
  const done: string[] = [];
  const work = (name: string) =>
    lock.run(async () => {
      done.push(`${name} begins`);
      await new Promise(setImmediate);
      done.push(`${name} ends`);
    });
  await Promise.all([work('batch'), work('read'), work('next batch')]);
  expect(done).toEqual(['batch', 'read', 'next batch'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test('failed work does not block later work', async () => {
  const lock = new BookingLock();
  await expect(lock.run(() => Promise.reject(new Error('the database is away')))).rejects.toThrow('away');
  expect(await lock.run(async () => 'read')).toBe('read');
});
