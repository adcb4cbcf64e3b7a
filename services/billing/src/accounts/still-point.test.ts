// Who waits for whom at a still point.
import { expect, test } from 'vitest';
import { StillPoint } from './still-point.ts';

test('batches overlap each other; who reads waits for those before, and those after wait for it', async () => {
  const point = new StillPoint();
  const told: string[] = [];
  const [first, second] = await Promise.all([point.move(), point.move()]);
  const reading = point.run(async () => told.push('read'));
  const third = point.move().then((still) => {
    told.push('third');
    return still;
  });
  const again = point.run(async () => told.push('read again'));
  told.push('second is over');
  second();
  await new Promise(setImmediate);
  told.push('first is over');
  first();
  await reading;
  const still = await third;
  await new Promise(setImmediate);
  told.push('third is over');
  still();
  await again;
  expect(told).toEqual(['second is over', 'first is over', 'read', 'third', 'third is over', 'read again']);
});

test('reading that fails keeps nobody waiting', async () => {
  const point = new StillPoint();
  await expect(point.run(() => Promise.reject(new Error('the database is away')))).rejects.toThrow('away');
  (await point.move())();
  expect(await point.run(async () => 'read')).toBe('read');
});
