// Billing as a process that is killed with SIGKILL while budgets are used up: every threshold is published once.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { openBucket, openEventReader } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import {
  startMongo,
  startNats,
  type TestServer,
  temporaryFolder,
  untilMidnightIsFar,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startBillingProcess } from '../fixtures/billing-process.ts';
import { openTestStore, type TestStore } from '../fixtures/database.ts';
import { completed, ORG } from '../fixtures/events.ts';
import { TestClient } from '../fixtures/running-billing.ts';

const RECOVERY_MS_MAX = 60_000;
const KEYS = 8;
const CALLS_PER_KEY = 25;
const KILLS = 4;
/** A key reaches its limit with the 20th call. */
const LIMIT = 20;

let nats: TestServer;
let database: TestServer;
let store: TestStore;
let client: TestClient;
let billing: ChildProcess | undefined;
let folder: string;

beforeAll(async () => {
  [nats, database, folder] = await Promise.all([startNats(), startMongo(), temporaryFolder('alerts')]);
  store = await openTestStore(database.url);
  client = await TestClient.connect(nats.url);
}, 60_000);

afterAll(async () => {
  billing?.kill('SIGKILL');
  await client?.close();
  await store?.close();
  await Promise.all([nats?.stop(), database?.stop()]);
  await rm(folder, { recursive: true, force: true });
});

function startProcess(): Promise<ChildProcess> {
  return startBillingProcess({ natsUrl: nats.url, mongoUrl: store.url, folder });
}

async function published(): Promise<string[]> {
  const subjects = [`event.v1.budget.threshold.${ORG}`];
  const reader = await openEventReader(client.bus, { stream: EVENTS_STREAM, subjects, after: 0 });
  const ids: string[] = [];
  try {
    if (reader.pending > 0)
      for await (const message of reader.messages) {
        ids.push(message.event()?.id ?? '');
        if (ids.length === reader.pending) break;
      }
  } finally {
    reader.stop();
  }
  return ids;
}

test('kills of billing lose no alert and double none', async () => {
  await untilMidnightIsFar();
  const keys = await openBucket(client.bus, 'keys');
  const ids = Array.from({ length: KEYS }, (_, i) => `key_killed${i}`);
  for (const id of ids)
    await keys.put(`hash-${id}`, {
      ...{ id, org: ORG, name: id, permissions: ['models:write'], prefix: 'sy_test', expires_at: null },
      ...{ created_at: new Date().toISOString(), limit: { amount: LIMIT, interval: 'month' } },
    });
  const time = new Date();
  for (let n = 0; n < CALLS_PER_KEY; n += 1) {
    await client.publish(
      ...ids.map((key_id) => completed(`req_${key_id}x${n}`, 1_000_000_000n, { key_id, time })),
    );
    if (n % Math.ceil(CALLS_PER_KEY / KILLS) !== 0) continue;
    billing ??= await startProcess();
    const booked = await store.store.ledger.countDocuments();
    await vi.waitFor(async () => expect(await store.store.ledger.countDocuments()).toBeGreaterThan(booked), {
      timeout: RECOVERY_MS_MAX,
      interval: 5,
    });
    const gone = once(billing, 'exit');
    billing.kill('SIGKILL'); // rows are written; their sums, alerts and acknowledgements may not be
    await gone;
    billing = undefined;
  }
  billing = await startProcess();
  await client.caughtUp();
  await vi.waitFor(
    async () => expect(await store.store.alerts.countDocuments({ published_at: null })).toBe(0),
    { timeout: RECOVERY_MS_MAX },
  );
  const month = `${time.toISOString().slice(0, 8)}01`;
  const expected = ids.flatMap((id) => [50, 80, 100].map((at) => `${id}:month:${month}:${at}`));
  expect((await published()).toSorted()).toEqual(expected.toSorted());
}, 300_000);
