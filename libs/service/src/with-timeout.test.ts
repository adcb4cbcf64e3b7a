import { expect, test } from 'vitest';
import { withTimeout } from './with-timeout.ts';

const LONG_MS = 60_000;
const late = () => new RangeError('too late');

test('returns a timely result, passes a failure on, and throws the caller’s error after the deadline', async () => {
  expect(await withTimeout(Promise.resolve(7), LONG_MS, late)).toBe(7);
  await expect(withTimeout(Promise.reject(new Error('its own')), LONG_MS, late)).rejects.toThrow('its own');
  await expect(withTimeout(new Promise(() => {}), 1, late)).rejects.toThrow(RangeError);
});

test('passes a late result to the closing function once, and a timely one never', async () => {
  const closed: string[] = [];
  const close = (brought: string) => closed.push(brought);
  await withTimeout(Promise.resolve('in time'), LONG_MS, late, close);
  const work = Promise.withResolvers<string>();
  await expect(withTimeout(work.promise, 1, late, close)).rejects.toThrow(RangeError);
  expect(closed).toEqual([]);
  work.resolve('too late');
  await expect.poll(() => closed).toEqual(['too late']);
});

test('ignores a late failure', async () => {
  const work = Promise.withResolvers<string>();
  await expect(withTimeout(work.promise, 1, late)).rejects.toThrow(RangeError);
  work.reject(new Error('its own'));
  await expect(work.promise).rejects.toThrow('its own');
});
