import { expect, test } from 'vitest';
import { inTime } from './in-time.ts';

const LONG_MS = 60_000;
const late = () => new RangeError('too late');

test('what comes in time is had, a failure as it is; what does not come ends by the error of its caller', async () => {
  expect(await inTime(Promise.resolve(7), LONG_MS, late)).toBe(7);
  await expect(inTime(Promise.reject(new Error('its own')), LONG_MS, late)).rejects.toThrow('its own');
  await expect(inTime(new Promise(() => {}), 1, late)).rejects.toThrow(RangeError);
});
