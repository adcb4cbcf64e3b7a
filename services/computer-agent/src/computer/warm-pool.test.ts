// When the pool makes containers; that they are real ones: computer-host.test.ts.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createExecActivity } from './exec-activity.ts';
import { openWarmPool, type StartedContainer, type WarmPool } from './warm-pool.ts';

const PAUSE_MS = 500;
const logger = { info: () => {}, warn: () => {} };

let pool: WarmPool;
afterEach(() => pool?.close());

/** A pool of containers that are made in no time, and when each was. */
function openPool(size: number, activity = createExecActivity()): number[] {
  const madeAt: number[] = [];
  const make = async (): Promise<StartedContainer> => {
    madeAt.push(performance.now());
    const init = { closed: new Promise<void>(() => {}) } as StartedContainer['init'];
    return { containerId: `container_${madeAt.length}`, slot: 'slot', pid: 1, init, cgroup: undefined };
  };
  pool = openWarmPool({ size, make, destroy: async () => {}, activity, logger });
  return madeAt;
}

test('it fills without a pause, and replaces what was claimed a while after the last claim', async () => {
  const madeAt = openPool(3);
  // Containers are made in no time here: where no pause is waited for, all are there before any timer has its turn.
  await nextTurn();
  expect(pool.waiting).toBe(3);
  await pool.filled();
  pool.claim();
  const claimedAt = performance.now();
  expect(pool.claim()).toBeDefined();
  await pool.filled();
  expect(madeAt.length).toBe(5);
  expect(madeAt[3]! - claimedAt).toBeGreaterThan(PAUSE_MS - 5);
});

test('an empty pool does not put off its filling for those who found none', async () => {
  openPool(1);
  await pool.filled();
  pool.claim();
  // Were it put off by them, it would be for ever: they ask again within each pause.
  const asking = setInterval(() => {
    if (pool.waiting === 0) expect(pool.claim()).toBeUndefined();
  }, 20);
  await pool.filled();
  clearInterval(asking);
  expect(pool.waiting).toBe(1);
});
