import type { Mirror } from '@switchyard/bus';
import {
  type KeyRecord,
  keyRecordKey,
  NO_RATE_LIMITS,
  newKeyId,
  type OrgRecord,
} from '@switchyard/contracts';
import { expect, test, vi } from 'vitest';
import { Spending } from './spending.ts';

const org = { id: 'org_a', billing: 'postpaid', monthly_limit: null } as OrgRecord;
const limits = { ...NO_RATE_LIMITS, requests_per_minute: 1 };
const limit = { amount: 1, interval: 'day' as const };
const maker = { id: newKeyId({ id: '', limit: null }), org: org.id, limit: null, limits } as KeyRecord;
const key = { id: newKeyId(maker), org: org.id, limit: null } as KeyRecord;

const spendingOf = (
  orgs: Pick<Mirror<OrgRecord>, 'peek' | 'lookup'>,
  makers: KeyRecord[] = [],
  fresh = true,
) =>
  new Spending({
    keys: {
      fresh,
      peek: (at: string) => makers.find(({ org, id }) => keyRecordKey(org, id) === at) ?? null,
    },
    orgs,
  });

test.each([
  ['whose maker has rate limits only is not limited', [maker], true, false],
  ['whose maker has a spending limit is limited', [{ ...maker, limit }], true, true],
  ['whose maker was revoked is limited', [], true, true],
  ['is limited while its makers may have changed unnoticed', [maker], false, true],
])('a key %s', async (_, makers, fresh, limited) => {
  const spending = spendingOf({ peek: () => org, lookup: () => org }, makers, fresh);
  expect(await spending.termsOf(key)).toEqual({ limited });
});

test.each([
  ['is prepaid by now', async () => ({ ...org, billing: 'prepaid' as const })],
  ['has a monthly limit by now', async () => ({ ...org, monthly_limit: 1 })],
])('a key is limited when its org %s, and memory does not know', async (_, lookup) => {
  expect(await spendingOf({ peek: () => org, lookup }).termsOf(maker)).toEqual({ limited: true });
});

test('no call begins while its org cannot be read', async () => {
  const lookup = () => Promise.reject(new Error('no answer'));
  await expect(spendingOf({ peek: () => org, lookup }).termsOf(maker)).rejects.toMatchObject({
    code: 'service_unavailable',
    retryAfterS: 1,
  });
});

test('limit and mark-up of a call come from one read of its org', async () => {
  const lookup = vi.fn(async () => ({ ...org, monthly_limit: 1, markup_percent: '5' }));
  const spending = spendingOf({ peek: () => org, lookup });
  expect(await spending.chargedCall({ id: 'req_1', caller: null }, maker, 0)).toMatchObject({
    limited: true,
    markup_percent: '5',
  });
  expect(lookup).toHaveBeenCalledTimes(1);
  expect(await spending.termsOf(maker)).toEqual({ limited: true, markup_percent: '5' });
  expect(lookup).toHaveBeenCalledTimes(2);
});
