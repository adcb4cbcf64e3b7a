// Billing as a process that is killed with SIGKILL while budgets are used up: every threshold is published once.
import { openBucket } from '@switchyard/bus';
import { keyRecordKey } from '@switchyard/contracts';
import { untilMidnightIsFar } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type KillableBilling, killableBilling } from '../fixtures/billing-process.ts';
import { completed, ORG } from '../fixtures/events.ts';
import { keyRecord } from '../fixtures/key-record.ts';
import { publishedAlerts } from '../fixtures/published-alerts.ts';

const RECOVERY_MS_MAX = 60_000;
const KEYS = 8;
const CALLS_PER_KEY = 25;
const KILLS = 4;
/** A key reaches its limit with the 20th call. */
const LIMIT = 20;

let installation: KillableBilling;

beforeAll(async () => {
  installation = await killableBilling();
});

afterAll(() => installation?.stop());

test('kills of billing lose no alert and double none', async () => {
  await untilMidnightIsFar();
  const { client, store } = installation;
  const keys = await openBucket(client.bus, 'keys');
  const ids = Array.from({ length: KEYS }, (_, i) => `key_killed${i}`);
  for (const id of ids)
    await keys.put(keyRecordKey(ORG, id), keyRecord(id, ORG, { amount: LIMIT, interval: 'month' }));
  const time = new Date();
  for (let n = 0; n < CALLS_PER_KEY; n += 1) {
    await client.publish(
      ...ids.map((key_id) => completed(`req_${key_id}x${n}`, 1_000_000_000n, { key_id, time })),
    );
    if (n % Math.ceil(CALLS_PER_KEY / KILLS) !== 0) continue;
    const booked = await store.store.ledger.countDocuments(); // no billing runs
    await installation.start();
    await vi.waitFor(async () => expect(await store.store.ledger.countDocuments()).toBeGreaterThan(booked), {
      timeout: RECOVERY_MS_MAX,
      interval: 5,
    });
    await installation.kill(); // rows are written; their sums, alerts and acknowledgements may not be
  }
  await installation.start();
  await client.caughtUp();
  await vi.waitFor(
    async () => expect(await store.store.alerts.countDocuments({ published_at: null })).toBe(0),
    { timeout: RECOVERY_MS_MAX },
  );
  const month = `${time.toISOString().slice(0, 8)}01`;
  const expected = ids.flatMap((id) => [50, 80, 100].map((at) => `${id}:month:${month}:${at}`));
  const published = (await publishedAlerts(client.bus, ORG)).map((alert) => alert.id);
  expect(published.toSorted()).toEqual(expected.toSorted());
});
