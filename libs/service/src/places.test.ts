import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Places } from './places.ts';

// byte-budget.test.ts tests the order of requests, the share of an org, the maximum wait and clients that leave.
const { signal } = new AbortController();

test('work waits for a place, and a failure frees its place', async () => {
  const places = new Places({ max: 1 });
  const first = Promise.withResolvers<void>();
  const running = places.run(signal, () => first.promise);
  let hasRun = false;
  const waiting = places.run(signal, () => {
    hasRun = true;
  });
  await setImmediate();
  expect([hasRun, places.waiting]).toEqual([false, 1]);
  first.reject(new Error('failed'));
  await expect(running).rejects.toThrow('failed');
  await waiting;
  expect([hasRun, places.held]).toEqual([true, 0]);
});

test('the maximum of an org does not limit requests of no org', async () => {
  const places = new Places({ max: 2, orgMax: 1 });
  await Promise.all([places.take(1, { signal }), places.take(1, { signal })]);
  expect(places.held).toBe(2);
});
