import { expect, test } from 'vitest';
import { loadAgain } from './load-later.ts';

test('a part is loaded again when the network changes meanwhile, and its error is shown in the end', async () => {
  let tries = 0;
  const failing = (times: number) => async () => {
    tries += 1;
    if (tries <= times) throw new TypeError('Failed to fetch dynamically imported module');
    return 'loaded';
  };
  expect(await loadAgain(failing(2), 0)).toBe('loaded');
  tries = 0;
  await expect(loadAgain(failing(3), 0)).rejects.toThrow('Failed to fetch');
  expect(tries).toBe(3);
});
