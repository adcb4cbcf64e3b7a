// When spares are made. The pool of real containers: computer-host.test.ts.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeLogger } from '@switchyard/service';
import { afterEach, expect, test } from 'vitest';
import { Spares } from './spares.ts';

const PAUSE_MS = 500;
const logger = makeLogger('test', 'silent');

let pool: Spares<string>;
afterEach(() => pool?.close());

/** A pool of containers that are made in no time, and when each was. */
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

test('it fills without a pause, and replaces what was claimed a while after the last claim', async () => {
  const madeAt = openPool(3);
  // Containers are made in no time here: where no pause is waited for, all are there before any timer has its turn.
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

test('an empty pool does not put off its filling for those who found none', async () => {
  const madeAt = openPool(1);
  await pool.filled();
  pool.claim();
  // Were it put off by them, it would be for ever: they ask again within each pause.
  const asking = setInterval(() => {
    if (madeAt.length === 1) expect(pool.claim()).toBeUndefined();
  }, 20);
  await pool.filled();
  clearInterval(asking);
  expect(pool.claim()).toBeDefined();
});
