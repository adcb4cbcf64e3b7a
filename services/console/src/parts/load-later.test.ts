import { expect, test } from 'vitest';
import { loadAgain } from './load-later.ts';

test('a part that fails to load on a network change is retried, then refused in plain words', async () => {
  let tries = 0;
  const failing = (times: number) => async () => {
    tries += 1;
    if (tries <= times) throw new TypeError('Failed to fetch dynamically imported module');
    return 'loaded';
  };
  expect(await loadAgain(failing(2), 0)).toBe('loaded');
  tries = 0;
  await expect(loadAgain(failing(3), 0)).rejects.toThrow('This page could not be loaded.');
  expect(tries).toBe(3);
});
