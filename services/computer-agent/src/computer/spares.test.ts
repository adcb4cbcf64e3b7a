// When spares are made. The pool of real containers: computer-host.test.ts.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeLogger } from '@switchyard/service';
import { afterEach, expect, test } from 'vitest';
import { Spares } from './spares.ts';

const PAUSE_MS = 500;
const logger = makeLogger('test', 'silent');

let pool: Spares<string>;
afterEach(() => pool?.close());

/** A pool of instantly made containers. @returns when each was made */
function openPool(size: number): number[] {
  const madeAt: number[] = [];
  const make = async () => {
    madeAt.push(performance.now());
    return `container_${madeAt.length}`;
  };
  pool = new Spares({ name: 'container', size, make, destroy: async () => {}, logger });
  pool.start();
  return madeAt;
}

test('it fills without a pause, and replaces claimed ones a while after the last claim', async () => {
  const madeAt = openPool(3);
  // Containers are made instantly here: without a pause, all exist before any timer fires.
  await nextTurn();
  expect(madeAt.length).toBe(3);
  await pool.filled();
  pool.claim();
  const claimedAt = performance.now();
  expect(pool.claim()).toBeDefined();
  await pool.filled();
  expect(madeAt.length).toBe(5);
  expect(madeAt[3]! - claimedAt).toBeGreaterThan(PAUSE_MS - 5);
});

test('claims that find an empty pool do not delay its refill', async () => {
  const madeAt = openPool(1);
  await pool.filled();
  pool.claim();
  // If they delayed it, it would never happen: they ask again within each pause.
  const asking = setInterval(() => {
    if (madeAt.length === 1) expect(pool.claim()).toBeUndefined();
  }, 20);
  await pool.filled();
  clearInterval(asking);
  expect(pool.claim()).toBeDefined();
});
