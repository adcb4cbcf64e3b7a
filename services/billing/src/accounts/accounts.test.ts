// Budgets over a real nats-server and a real MongoDB wire server: requests of the routers, then the state of the
// ledger.
import { type Bucket, openBucket } from '@switchyard/bus';
import {
  type KeyRecord,
  keyRecordKey,
  type ListQuery,
  newId,
  newKeyId,
  type OrgRecord,
  placeOf,
} from '@switchyard/contracts';
import { untilMidnightIsFar } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { completed, voided } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { keyRecord } from '../fixtures/key-record.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import type { TestBilling } from '../fixtures/running-billing.ts';
import { HOLD_WAIT_MS_MAX } from './hold-desk.ts';

/** The partition may be without an owner for longer than a call waits. */
const TAKEN_OVER_MS_MAX = 60_000;

let installation: TestInstallation;
let orgs: Bucket<OrgRecord>;
let keys: Bucket<KeyRecord>;
let billing: TestBilling;
let org: string;
let count = 0;

beforeAll(async () => {
  installation = await startInstallation();
  orgs = await openBucket(installation.client.bus, 'orgs');
  keys = await openBucket(installation.client.bus, 'keys');
  billing = await installation.startBilling();
});

afterAll(() => installation?.stop());

beforeEach(async () => {
  org = `org_budget${++count}`;
  await untilMidnightIsFar();
});

const NOW = () => new Date();

async function setOrg(record: Pick<OrgRecord, 'billing' | 'monthly_limit'>): Promise<void> {
  await orgs.put(org, orgRecord(org, record));
  await expect.poll(async () => (await account()).billing).toBe(record.billing);
  // Billing reads the record through a watch: this call passes once a limit applies.
  const probe = async () =>
    (await take('req_probe', 1n).catch(() => ({ granted_nano: 'none' }))).granted_nano;
  await expect.poll(probe).not.toBeNull();
  await settle('req_probe', 0n);
}

/** Billing reads key changes through a watch: this call passes once the change has arrived. */
async function setKey(id: string, limit: KeyRecord['limit']): Promise<void> {
  await keys.put(keyRecordKey(org, id), keyRecord(id, org, limit));
  const probe = async () => (await take('req_probe', 1n, { key: id })).granted_nano;
  if (limit) await expect.poll(probe).toBe('1');
  else await expect.poll(probe).toBeNull();
  await settle('req_probe', 0n);
}

function take(call: string, amount: bigint, { key = 'key_1', exact = false } = {}) {
  return installation.client.ask('holds.take', {
    org,
    key_id: key,
    call,
    amount_nano: String(amount),
    exact,
  });
}

function settle(call: string, cost: bigint) {
  return installation.client.ask('holds.settle', { org, call, cost_nano: String(cost) });
}

function account() {
  return installation.client.ask('account.get', { org, key_id: 'key_1' });
}

/** Resolves when the credits are booked; the answer waits for that only for a limited time. */
async function grant(amount: number) {
  const body = { amount, reason: 'payment' };
  const credit = await installation.client.ask('credits.create', { org, key_id: 'key_1', body });
  await installation.client.caughtUp(org);
  return credit;
}

/** Renews holds, by call, as a router does. @returns a function that ends this */
function keepRenewing(amounts: ReadonlyMap<string, bigint>): () => void {
  const timer = setInterval(() => {
    const holds = [...amounts].map(([call, amount]) => ({
      ...{ org, key_id: 'key_1', call },
      amount_nano: String(amount),
    }));
    installation.client.ask('holds.renew', { place: placeOf(org), holds }).catch(() => {}); // no owner is there
  }, 200);
  return () => clearInterval(timer);
}

/** One call as a router makes it: hold, event, settle. */
async function call(id: string, held: bigint, cost: bigint): Promise<void> {
  await take(id, held);
  await installation.client.publish(completed(id, cost, { org, time: NOW() }));
  await settle(id, cost);
}

describe('an org', () => {
  test('without a record holds nothing, whatever amount it requests', async () => {
    expect(await take('req_free', 10n ** 15n)).toEqual({ granted_nano: null, capped: false });
    expect(await account()).toMatchObject({ billing: 'postpaid', balance: null, month: { limit: null } });
  });

  test('that is prepaid spends its credits to the last nano-dollar, and no more', async () => {
    await setOrg({ billing: 'prepaid', monthly_limit: null });
    await expect(take('req_before', 1n)).rejects.toMatchObject({
      ...{ code: 'insufficient_funds', status: 402 },
      message: 'The credits do not cover this call: $0 is left. Ask the operator to grant credits.',
    });
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
    await installation.client.publish(completed('req_p3', 20n, { org, time: NOW() }));
    await settle('req_p3', 20n);
    await expect(take('req_p4', 1n)).rejects.toMatchObject({ code: 'insufficient_funds' });
    await grant(0.000000001);
    expect(await take('req_p5', 1n)).toEqual({ granted_nano: '1', capped: false });
    expect(await account()).toMatchObject({ balance: 0.000000001, held: 0.000000001 });
    const credits = (query: ListQuery) =>
      installation.client.ask('credits.list', { org, key_id: 'key_1', query });
    const { data } = await credits({});
    expect(data).toHaveLength(2);
    const first = await credits({ limit: 1 });
    expect(first).toMatchObject({ data: [data[0]], has_more: true, last_id: data[0]?.id });
    expect(await credits({ limit: 1, after: first.last_id ?? '' })).toMatchObject({
      data: [data[1]],
      has_more: false,
      next_cursor: null,
    });
    await expect(credits({ after: 'crd_none' })).rejects.toMatchObject({ param: 'after' });
  });

  test('has the credits that it was granted while postpaid', async () => {
    await setOrg({ billing: 'prepaid', monthly_limit: null });
    await grant(0.00000001);
    expect(await take('req_b1', 10n)).toMatchObject({ granted_nano: '10' });
    await orgs.put(org, orgRecord(org, { billing: 'postpaid', monthly_limit: null }));
    await expect.poll(async () => (await take('req_b2', 99n)).granted_nano).toBeNull();
    await grant(0.00000005);
    await setOrg({ billing: 'prepaid', monthly_limit: null });
    expect(await take('req_b3', 50n, { exact: true })).toMatchObject({ granted_nano: '50' });
  });

  test('gets its money back when a call is voided', async () => {
    await setOrg({ billing: 'prepaid', monthly_limit: null });
    await grant(0.0000001);
    await call('req_v1', 100n, 100n);
    await expect(take('req_v2', 1n)).rejects.toMatchObject({ code: 'insufficient_funds' });
    await installation.client.publish(voided('req_v1', { org }));
    expect((await account()).balance).toBe(0.0000001);
    expect(await take('req_v3', 100n)).toEqual({ granted_nano: '100', capped: false });
  });

  test('with a monthly limit is refused above it with amount and end, and admitted after a raise', async () => {
    await setOrg({ billing: 'postpaid', monthly_limit: 0.0000001 });
    await call('req_m1', 100n, 100n);
    const refusal = await take('req_m2', 1n).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'budget_exceeded', status: 402, details: { interval: 'month' } });
    await orgs.put(org, orgRecord(org, { billing: 'postpaid', monthly_limit: 0.0000002 }));
    await expect.poll(() => take('req_m3', 100n).catch(() => null)).toMatchObject({ granted_nano: '100' });
    expect((await account()).month).toMatchObject({ spent: 0.0000001, limit: 0.0000002 });
  });
});

test('the limit of a new key applies from its first call', async () => {
  for (let i = 0; i < 20; i++) {
    const id = `key_new_${i}`;
    await keys.put(keyRecordKey(org, id), keyRecord(id, org, { amount: 0.00000001, interval: 'day' }));
    await expect(take(`req_new_${i}`, 11n, { key: id, exact: true })).rejects.toMatchObject({
      code: 'budget_exceeded',
    });
  }
});

test('a key has its own limit besides that of its org, and it does not affect other keys', async () => {
  await setOrg({ billing: 'prepaid', monthly_limit: null });
  await grant(1);
  await setKey('key_small', { amount: 0.00000001, interval: 'day' });
  expect(await take('req_k1', 11n, { key: 'key_small' })).toEqual({ granted_nano: '10', capped: true });
  await settle('req_k1', 10n);
  await installation.client.publish(completed('req_k1', 10n, { org, key_id: 'key_small', time: NOW() }));
  await expect(take('req_k2', 1n, { key: 'key_small' })).rejects.toMatchObject({ code: 'budget_exceeded' });
  expect(await take('req_k3', 11n)).toMatchObject({ granted_nano: '11' });
});

describe('a limited key', () => {
  const limit = { amount: 0.0000001, interval: 'day' } as const;

  test('shares its limit with the keys below it: together they spend it once, under any owner', async () => {
    const maker = newId('key');
    const made = [newKeyId({ id: maker, limit }), newKeyId({ id: maker, limit })];
    const below = newKeyId({ id: made[0] ?? '', limit: null });
    for (const id of [maker, ...made]) await setKey(id, limit);
    await keys.put(keyRecordKey(org, below), keyRecord(below, org, null));
    const refused = { code: 'budget_exceeded', message: expect.stringContaining(maker) };
    const spend = async (key = '') => {
      const id = newId('request');
      await take(id, 30n, { key });
      await installation.client.publish(completed(id, 30n, { org, key_id: key, time: NOW() }));
      await settle(id, 30n);
    };
    await Promise.all([spend(made[0]), spend(made[1]), spend(below)]);
    await expect(take('req_l1', 11n, { key: made[0] ?? '', exact: true })).rejects.toMatchObject(refused);
    expect(await installation.client.ask('keys.spending', { org, key_id: maker, id: maker })).toMatchObject({
      spent: 0.00000009,
    });
    // Read from the ledger by another owner, also for a key that was revoked.
    await keys.delete(keyRecordKey(org, made[1] ?? ''));
    const next = await installation.startBilling();
    await billing.stop();
    billing = next;
    await vi.waitFor(
      async () => expect(await take('req_l2', 10n, { key: maker })).toMatchObject({ granted_nano: '10' }),
      { timeout: TAKEN_OVER_MS_MAX },
    );
    await settle('req_l2', 0n);
    await expect(take('req_l3', 11n, { key: below, exact: true })).rejects.toMatchObject(refused);
    expect(await take('req_l4', 10n, { key: below, exact: true })).toMatchObject({ granted_nano: '10' });
    await settle('req_l4', 0n);
  });

  test('that was revoked lets the keys below it spend nothing', async () => {
    const maker = newId('key');
    const made = newKeyId({ id: maker, limit });
    await keys.put(keyRecordKey(org, made), keyRecord(made, org, limit));
    await expect(take('req_o1', 1n, { key: made })).rejects.toMatchObject({
      code: 'budget_exceeded',
      status: 402,
    });
  });
});

describe('a refund', () => {
  const limit = { amount: 0.0000001, interval: 'day' } as const;
  const refund = (request_id: string) =>
    installation.client.ask('refunds.create', {
      ...{ org, key_id: 'key_1', refund_id: newId('refund'), body: { request_id, reason: 'test' } },
    });
  const spent = async (id: string) =>
    (await installation.client.ask('keys.spending', { org, key_id: id, id })).spent;

  test.each(['before', 'after'])(
    'of an earlier day raises no limit of today, %s the budget was read',
    async (order) => {
      const id = `key_refund_${order}`;
      const monthAgo = new Date(Date.now() - 40 * 86_400_000);
      await installation.client.publish(
        completed(`req_old_${order}`, 500n, { org, key_id: id, time: monthAgo }),
      );
      if (order === 'before') await refund(`req_old_${order}`);
      await orgs.put(org, orgRecord(org, { billing: 'postpaid', monthly_limit: 0.0000001 }));
      await setKey(id, limit);
      if (order === 'after') await refund(`req_old_${order}`);
      expect(await spent(id)).toBe(0);
      expect((await account()).month.spent).toBe(0);
      await expect(take('req_f1', 101n, { key: id, exact: true })).rejects.toMatchObject({
        code: 'budget_exceeded',
      });
      await orgs.put(org, orgRecord(org, { billing: 'postpaid', monthly_limit: null }));
      const refusal = () =>
        take('req_f2', 101n, { key: id, exact: true }).catch(({ details }) => details.interval);
      await expect.poll(refusal).toBe('day'); // of the key alone
      expect(await take('req_f3', 100n, { key: id, exact: true })).toMatchObject({ granted_nano: '100' });
    },
  );

  test('of the same day gives its amount back', async () => {
    await setKey('key_refund', limit);
    await installation.client.publish(
      completed('req_today', 80n, { org, key_id: 'key_refund', time: NOW() }),
    );
    expect(await spent('key_refund')).toBe(0.00000008);
    await refund('req_today');
    expect(await spent('key_refund')).toBe(0);
    expect(await take('req_f4', 100n, { key: 'key_refund', exact: true })).toMatchObject({
      granted_nano: '100',
    });
  });
});

test('200 concurrent calls on a budget for exactly 50: 50 pass, 150 are refused, no hold remains', async () => {
  await setOrg({ billing: 'prepaid', monthly_limit: null });
  const cost = 1_000n;
  await grant(0.00005); // 50 calls
  const held = new Map<string, bigint>();
  const stopRenewing = keepRenewing(held);
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const id = `req_b${count}_${i}`;
      const estimate = 3n * cost;
      for (let isHeld = false; !isHeld; ) {
        const askedAt = performance.now();
        try {
          await take(id, estimate);
          isHeld = true;
        } catch (error) {
          // A call that was refused after its wait on a busy machine asks again.
          if (performance.now() - askedAt < HOLD_WAIT_MS_MAX) return (error as { code: string }).code;
        }
      }
      held.set(id, estimate);
      await installation.client.publish(completed(id, cost, { org, time: NOW() }));
      held.delete(id);
      await settle(id, cost);
      return 'ok';
    }),
  );
  stopRenewing();
  expect(outcomes.filter((one) => one === 'ok')).toHaveLength(50);
  expect(outcomes.filter((one) => one === 'insufficient_funds')).toHaveLength(150);
  expect(await account()).toMatchObject({ balance: 0, held: 0, spent: 0.00005 });
});

test('a renewal that arrives after its call was booked holds nothing, and the call counts once', async () => {
  await setOrg({ billing: 'prepaid', monthly_limit: null });
  await grant(0.0000001);
  await take('req_late', 50n);
  await installation.client.publish(completed('req_late', 40n, { org, time: NOW() }));
  await installation.client.caughtUp(org);
  const holds = [{ org, key_id: 'key_1', call: 'req_late', amount_nano: '50' }];
  await installation.client.ask('holds.renew', { place: placeOf(org), holds });
  expect((await account()).held).toBe(0);
  await settle('req_late', 40n);
  expect(await account()).toMatchObject({ balance: 0.00000006, held: 0, spent: 0.00000004 });
});

test('a new owner of the partition knows spending and holds', async () => {
  await setOrg({ billing: 'prepaid', monthly_limit: null });
  await grant(0.0000001);
  await call('req_f1', 50n, 40n);
  await take('req_f2', 50n); // 10 are left
  const next = await installation.startBilling();
  await billing.stop();
  billing = next;
  const stopRenewing = keepRenewing(new Map([['req_f2', 50n]]));
  await vi.waitFor(
    async () => expect(await take('req_f3', 10n)).toEqual({ granted_nano: '10', capped: false }),
    { timeout: TAKEN_OVER_MS_MAX },
  );
  await settle('req_f3', 0n);
  const waiting = take('req_f4', 60n);
  await settle('req_f2', 0n);
  stopRenewing();
  expect(await waiting).toEqual({ granted_nano: '60', capped: false });
});
