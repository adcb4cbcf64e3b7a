import { expect, test } from 'vitest';
import { Lock } from './lock.ts';

test('pieces of work run alone, in the order of the calls', async () => {
  const lock = new Lock();
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
  const lock = new Lock();
  await expect(lock.run(() => Promise.reject(new Error('the database is down')))).rejects.toThrow('down');
  expect(await lock.run(async () => 'read')).toBe('read');
});
