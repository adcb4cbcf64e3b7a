// Alerts of budgets over a real nats-server and a real MongoDB wire server, also with billing killed at every step.
import { type Bucket, openBucket } from '@switchyard/bus';
import {
  eventIds,
  type KeyRecord,
  keyRecordKey,
  makeEvent,
  newId,
  newKeyId,
  type OrgRecord,
} from '@switchyard/contracts';
import { untilMidnightIsFar } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { completed } from '../fixtures/events.ts';
import { startInstallation, type TestInstallation } from '../fixtures/installation.ts';
import { keyRecord } from '../fixtures/key-record.ts';
import { orgRecord } from '../fixtures/org-record.ts';
import { publishedAlerts } from '../fixtures/published-alerts.ts';
import type { BudgetAlert } from '../store/documents.ts';

const TAKEN_OVER_MS_MAX = 60_000;
const DOLLAR = 1_000_000_000n;
const CENT = DOLLAR / 100n;
const HOUR_MS = 3_600_000;

let installation: TestInstallation;
let orgs: Bucket<OrgRecord>;
let keys: Bucket<KeyRecord>;
let org: string;
let count = 0;

beforeAll(async () => {
  installation = await startInstallation();
  orgs = await openBucket(installation.client.bus, 'orgs');
  keys = await openBucket(installation.client.bus, 'keys');
});

afterAll(() => installation?.stop());

beforeEach(async () => {
  org = `org_alert${++count}`;
  await untilMidnightIsFar();
});

type Terms = Pick<OrgRecord, 'billing' | 'monthly_limit'>;

/** Publishes the event as control does: after the record. */
async function setOrg(terms: Terms): Promise<void> {
  await publishOrgUpdate(terms, await orgs.put(org, orgRecord(org, terms)));
}

async function publishOrgUpdate({ billing, monthly_limit }: Terms, revision: number): Promise<void> {
  const monthly_limit_nano = monthly_limit === null ? null : `${BigInt(monthly_limit) * DOLLAR}`;
  await installation.client.publish(
    makeEvent({
      ...{ name: 'account.updated', id: eventIds.accountUpdated(org, revision), source: '/test' },
      ...{ time: new Date(), data: { org, by_key_id: 'key_1', billing, monthly_limit_nano } },
    }),
  );
}

async function setKey(limit: KeyRecord['limit'], id = newId('key')): Promise<string> {
  await publishKeyUpdate(id, await keys.put(keyRecordKey(org, id), keyRecord(id, org, limit)));
  return id;
}

async function publishKeyUpdate(id: string, revision: number): Promise<void> {
  await installation.client.publish(
    makeEvent({
      ...{ name: 'key.updated', id: eventIds.keyUpdated(id, revision), source: '/test' },
      ...{ time: new Date(), data: { key_id: id, org, by_key_id: 'key_1' } },
    }),
  );
}

let calls = 0;
/** Resolves when the charge is booked. */
async function charge(cost: bigint, { key_id = 'key_other', time = new Date() } = {}): Promise<void> {
  await installation.client.publish(completed(`req_alert${++calls}`, cost, { org, key_id, time }));
  await installation.client.caughtUp(org);
}

const inStream = (of = org) => publishedAlerts(installation.client.bus, of);

/** The alerts of an org, when every stored one is published. */
async function alerts(of = org): Promise<string[]> {
  const { store } = installation.database;
  await vi.waitFor(
    async () => expect(await store.alerts.countDocuments({ org: of, published_at: null })).toBe(0),
    { timeout: TAKEN_OVER_MS_MAX },
  );
  return (await inStream(of)).map(({ id }) => id);
}

const today = () => new Date().toISOString().slice(0, 10);
const monthOf = () => `${today().slice(0, 8)}01`;

describe('a budget', () => {
  beforeAll(async () => {
    await installation.startBilling();
  });

  test('of an org publishes each threshold once in a month, and nothing in the ledger', async () => {
    await setOrg({ billing: 'postpaid', monthly_limit: 1 });
    await charge(DOLLAR / 2n - 1n);
    expect(await alerts()).toEqual([]);
    await charge(1n);
    const half = `${org}:month:${monthOf()}:50`;
    expect(await alerts()).toEqual([half]);
    await charge(70n * CENT);
    const all = [half, `${org}:month:${monthOf()}:80`, `${org}:month:${monthOf()}:100`];
    expect(await alerts()).toEqual(all);
    await charge(90n * CENT);
    expect(await alerts()).toEqual(all);
    const [first, , last] = await inStream();
    const month = { interval: 'month', starts_at: `${monthOf()}T00:00:00.000Z` };
    expect(first?.data).toMatchObject({
      org,
      key_id: null,
      threshold: 50,
      spent_nano: '500000000',
      ...month,
    });
    expect(last?.data).toMatchObject({ threshold: 100, spent_nano: '1200000000', limit_nano: '1000000000' });
    const rows = await installation.database.store.ledger.find({ org }).toArray();
    expect(rows.map(({ kind }) => kind)).toEqual(['call', 'call', 'call', 'call']);
  });

  test('of a key counts the keys below it, and has thresholds in each of its periods', async () => {
    const above = await setKey({ amount: 1, interval: 'day' });
    const below = newKeyId({ id: above, limit: { amount: 1, interval: 'day' } });
    await charge(30n * CENT, { key_id: above });
    await charge(25n * CENT, { key_id: below });
    expect(await alerts()).toEqual([`${above}:day:${today()}:50`]);
    const yesterday = new Date(Date.now() - 24 * HOUR_MS);
    await charge(DOLLAR, { key_id: below, time: yesterday });
    const before = yesterday.toISOString().slice(0, 10);
    expect((await alerts()).slice(1)).toEqual([50, 80, 100].map((at) => `${above}:day:${before}:${at}`));
  });

  test('publishes nothing for a period that ended more than 48 hours ago', async () => {
    const key_id = await setKey({ amount: 1, interval: 'day' });
    await charge(DOLLAR, { key_id, time: new Date(Date.now() - 96 * HOUR_MS) });
    expect(await alerts()).toEqual([]);
  });

  test('that is lowered publishes reached thresholds without a charge; a raised one repeats none', async () => {
    await setOrg({ billing: 'postpaid', monthly_limit: 100 });
    const key_id = await setKey({ amount: 100, interval: 'week' });
    await charge(4n * DOLLAR, { key_id });
    expect(await alerts()).toEqual([]);
    await setOrg({ billing: 'postpaid', monthly_limit: 8 });
    await installation.client.caughtUp(org);
    expect(await alerts()).toEqual([`${org}:month:${monthOf()}:50`]);
    await setKey({ amount: 4, interval: 'week' }, key_id);
    await installation.client.caughtUp(org);
    expect(await alerts()).toHaveLength(4);
    await setOrg({ billing: 'postpaid', monthly_limit: 16 });
    await charge(4n * DOLLAR);
    expect(await alerts()).toHaveLength(4);
    await charge(5n * DOLLAR);
    expect((await alerts()).slice(4)).toEqual([`${org}:month:${monthOf()}:80`]);
  });

  test('whose record is unreadable publishes nothing, and holds up no booking', async () => {
    const terms = { billing: 'postpaid', monthly_limit: 1 } as const;
    await publishOrgUpdate(
      terms,
      await orgs.put(org, { ...orgRecord(org, terms), billing: 'unknown' as never }),
    );
    const id = newId('key');
    const record = keyRecord(id, org, { amount: 1, interval: 'day' });
    const revision = await keys.put(keyRecordKey(org, id), { ...record, permissions: ['unknown' as never] });
    await publishKeyUpdate(id, revision);
    await charge(DOLLAR, { key_id: id });
    expect(await alerts()).toEqual([]);
  });

  test('of credits publishes nothing', async () => {
    await setOrg({ billing: 'prepaid', monthly_limit: null });
    await charge(DOLLAR);
    expect(await alerts()).toEqual([]);
  });
});

describe('an alert that was interrupted', () => {
  async function storedAlert(minutesAgo: number): Promise<BudgetAlert> {
    const time = new Date(Date.now() - minutesAgo * 60_000);
    const [startsAt, ends_at] = [new Date(`${today()}T00:00:00Z`), new Date(Date.now() + HOUR_MS)];
    const id = eventIds.budgetThreshold({ budget: org, interval: 'day', startsAt, threshold: 50 });
    const event = makeEvent({
      ...{ name: 'budget.threshold', id, source: '/test', time },
      data: {
        ...{ org, key_id: null, threshold: 50, interval: 'day', limit_nano: '2', spent_nano: '1' },
        ...{ starts_at: startsAt.toISOString(), ends_at: ends_at.toISOString() },
      },
    });
    return { _id: id, org, ends_at, event, published_at: null };
  }

  test('before its publication is published by the next owner', async () => {
    const alert = await storedAlert(10);
    await installation.database.store.alerts.insertOne(alert);
    expect(await alerts()).toEqual([alert._id]);
  });

  test('after its publication is not published again, also after the duplicate window', async () => {
    const alert = await storedAlert(10);
    await installation.client.publish(alert.event); // without the header by which JetStream recognises repeats
    await installation.database.store.alerts.insertOne(alert);
    expect(await alerts()).toEqual([alert._id]);
  });
});
