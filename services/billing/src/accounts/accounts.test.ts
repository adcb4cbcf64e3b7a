// Budgets over a real nats-server and a real MongoDB wire server: what the routers ask, and what the ledger says later.
import { type Bucket, type Bus, connectBus, openBucket } from '@switchyard/bus';
import { type KeyRecord, type OrgRecord, placeOf } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { untilMidnightIsFar } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { completed, voided } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import type { TestBilling } from '../fixtures/running-billing.ts';

/** Nobody may be there for longer than a call waits. */
const TAKEN_OVER_MS_MAX = 60_000;

let on: TestInstallation;
let control: Bus;
let orgs: Bucket<OrgRecord>;
let keys: Bucket<KeyRecord>;
let billing: TestBilling;
let org: string;
let count = 0;

beforeAll(async () => {
  on = await startInstallation();
  control = await connectBus({ url: on.nats.url, service: 'control', logger: makeLogger('test', 'silent') });
  orgs = await openBucket(control, 'orgs');
  keys = await openBucket(control, 'keys');
  billing = await on.startBilling();
}, 60_000);

afterAll(async () => {
  await control?.close();
  await on?.stop();
});

beforeEach(async () => {
  org = `org_budget${++count}`;
  await untilMidnightIsFar();
});

const NOW = () => new Date();

async function setOrg(record: Pick<OrgRecord, 'billing' | 'monthly_limit'>): Promise<void> {
  await orgs.put(org, { id: org, ...record, updated_at: NOW().toISOString() });
  await expect.poll(async () => (await account()).billing).toBe(record.billing);
  // And to its memory by a watch: one call tells when something limits it.
  const probe = async () =>
    (await take('req_probe', 1n).catch(() => ({ granted_nano: 'none' }))).granted_nano;
  await expect.poll(probe).not.toBeNull();
  await settle('req_probe', 0n);
}

function keyRecord(id: string): Omit<KeyRecord, 'limit'> {
  return {
    id,
    org,
    name: id,
    permissions: ['models:write'],
    prefix: 'sy_test',
    created_at: NOW().toISOString(),
    expires_at: null,
  };
}

/** Changes of a key reach billing by a watch: one call tells when it is there. */
async function setKey(id: string, limit: KeyRecord['limit']): Promise<void> {
  await keys.put(`hash-${id}`, { ...keyRecord(id), limit });
  const probe = async () => (await take('req_probe', 1n, { key: id })).granted_nano;
  if (limit) await expect.poll(probe).toBe('1');
  else await expect.poll(probe).toBeNull();
  await settle('req_probe', 0n);
}

function take(call: string, amount: bigint, { key = 'key_1', exact = false } = {}) {
  return on.client.ask('holds.take', { org, key_id: key, call, amount_nano: String(amount), exact });
}

function settle(call: string, cost: bigint) {
  return on.client.ask('holds.settle', { org, call, event: call, cost_nano: String(cost) });
}

function account() {
  return on.client.ask('account.get', { org, key_id: 'key_1' });
}

function grant(amount: number, reason = 'payment') {
  return on.client.ask('credits.create', { org, key_id: 'key_1', body: { amount, reason } });
}

/** One call as a router makes it: hold, event, settle. */
async function call(id: string, held: bigint, cost: bigint): Promise<void> {
  await take(id, held);
  await on.client.publish(completed(id, cost, { org, time: NOW() }));
  await settle(id, cost);
}

describe('an org', () => {
  test('without a record holds nothing, however much it asks for', async () => {
    expect(await take('req_free', 10n ** 15n)).toEqual({ granted_nano: null, capped: false });
    expect(await account()).toMatchObject({ billing: 'postpaid', balance: null, month: { limit: null } });
  });

  test('that is prepaid spends its credits to the last nano-dollar, and no further', async () => {
    await setOrg({ billing: 'prepaid', monthly_limit: null });
    await expect(take('req_before', 1n)).rejects.toMatchObject({ code: 'insufficient_funds', status: 402 });
    const credit = await grant(0.00000005);
    expect(credit).toMatchObject({
      object: 'credit',
      amount: 0.00000005,
      reason: 'payment',
      reference: null,
    });
    await call('req_p1', 40n, 30n);
    expect(await account()).toMatchObject({ balance: 0.00000002, spent: 0.00000003, credits: 0.00000005 });
    await expect(take('req_p2', 21n, { exact: true })).rejects.toMatchObject({ code: 'insufficient_funds' });
    expect(await take('req_p3', 21n)).toEqual({ granted_nano: '20', capped: true });
    await on.client.publish(completed('req_p3', 20n, { org, time: NOW() }));
    await settle('req_p3', 20n);
    await expect(take('req_p4', 1n)).rejects.toMatchObject({ code: 'insufficient_funds' });
    await grant(0.000000001);
    expect(await take('req_p5', 1n)).toEqual({ granted_nano: '1', capped: false });
    expect(await account()).toMatchObject({ balance: 0.000000001, held: 0.000000001 });
    expect((await on.client.ask('credits.list', { org, key_id: 'key_1' })).data).toHaveLength(2);
  });

  test('has its money back when a call is voided', async () => {
    await setOrg({ billing: 'prepaid', monthly_limit: null });
    await grant(0.0000001);
    await call('req_v1', 100n, 100n);
    await expect(take('req_v2', 1n)).rejects.toMatchObject({ code: 'insufficient_funds' });
    await on.client.publish(voided('req_v1', { org }));
    expect((await account()).balance).toBe(0.0000001);
    expect(await take('req_v3', 100n)).toEqual({ granted_nano: '100', capped: false });
  });

  test('with a monthly limit is refused over it, told how much and until when, and let on when it is raised', async () => {
    await setOrg({ billing: 'postpaid', monthly_limit: 0.0000001 });
    await call('req_m1', 100n, 100n);
    const refusal = await take('req_m2', 1n).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'budget_exceeded', status: 402, details: { interval: 'month' } });
    await orgs.put(org, {
      id: org,
      billing: 'postpaid',
      monthly_limit: 0.0000002,
      updated_at: NOW().toISOString(),
    });
    await expect.poll(() => take('req_m3', 100n).catch(() => null)).toMatchObject({ granted_nano: '100' });
    expect((await account()).month).toMatchObject({ spent: 0.0000001, limit: 0.0000002 });
  });
});

test('the limit of a new key holds from its first call on', async () => {
  for (let i = 0; i < 20; i++) {
    const id = `key_new_${i}`;
    await keys.put(`hash-${id}`, { ...keyRecord(id), limit: { amount: 0.00000001, interval: 'day' } });
    await expect(take(`req_new_${i}`, 11n, { key: id, exact: true })).rejects.toMatchObject({
      code: 'budget_exceeded',
    });
  }
});

test('a key has its own limit beside that of its org, and other keys are free of it', async () => {
  await setOrg({ billing: 'prepaid', monthly_limit: null });
  await grant(1);
  await setKey('key_small', { amount: 0.00000001, interval: 'day' });
  expect(await take('req_k1', 11n, { key: 'key_small' })).toEqual({ granted_nano: '10', capped: true });
  await settle('req_k1', 10n);
  await on.client.publish(completed('req_k1', 10n, { org, key_id: 'key_small', time: NOW() }));
  await expect(take('req_k2', 1n, { key: 'key_small' })).rejects.toMatchObject({ code: 'budget_exceeded' });
  expect(await take('req_k3', 11n)).toMatchObject({ granted_nano: '11' });
});

test('200 calls at once on a budget that fits exactly 50: 50 go, 150 are refused, nothing is left held', async () => {
  await setOrg({ billing: 'prepaid', monthly_limit: null });
  const cost = 1_000n;
  await grant(0.00005); // 50 calls
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const id = `req_b${count}_${i}`;
      try {
        await take(id, 3n * cost); // nobody knows beforehand that it costs a third
      } catch (error) {
        return (error as { code: string }).code;
      }
      await on.client.publish(completed(id, cost, { org, time: NOW() }));
      await settle(id, cost);
      return 'ok';
    }),
  );
  expect(outcomes.filter((one) => one === 'ok')).toHaveLength(50);
  expect(outcomes.filter((one) => one === 'insufficient_funds')).toHaveLength(150);
  expect(await account()).toMatchObject({ balance: 0, held: 0, spent: 0.00005 });
});

test('another owner of the partition knows what was spent and what is held', async () => {
  await setOrg({ billing: 'prepaid', monthly_limit: null });
  await grant(0.0000001);
  await call('req_f1', 50n, 40n);
  await take('req_f2', 50n); // 10 are left
  const next = await on.startBilling();
  await billing.stop();
  billing = next;
  const renewing = setInterval(() => {
    const holds = [{ org, key_id: 'key_1', call: 'req_f2', amount_nano: '50' }];
    on.client.ask('holds.renew', { place: placeOf(org), holds }).catch(() => {}); // until the new one is there
  }, 200);
  await vi.waitFor(
    async () => expect(await take('req_f3', 10n)).toEqual({ granted_nano: '10', capped: false }),
    { timeout: TAKEN_OVER_MS_MAX },
  );
  await settle('req_f3', 0n);
  const waiting = take('req_f4', 60n);
  await settle('req_f2', 0n);
  clearInterval(renewing);
  expect(await waiting).toEqual({ granted_nano: '60', capped: false });
});
