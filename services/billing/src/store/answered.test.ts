import { expect, test } from 'vitest';
import { answered, DatabaseSilent } from './answered.ts';

test('an answer in time is returned, and silence is an error', async () => {
  await expect(answered(Promise.resolve(7), 1_000)).resolves.toBe(7);
  await expect(answered(Promise.reject(new RangeError('no')), 1_000)).rejects.toThrow(RangeError);
  await expect(answered(new Promise(() => {}), 5)).rejects.toThrow(DatabaseSilent);
});
