import {
  type KeyRecord,
  keyRecordKey,
  NO_RATE_LIMITS,
  newKeyId,
  type OrgRecord,
} from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { Spending } from './spending.ts';

const org = { id: 'org_a', billing: 'postpaid', monthly_limit: null } as OrgRecord;
const limits = { ...NO_RATE_LIMITS, requests_per_minute: 1 };
const limit = { amount: 1, interval: 'day' as const };
const maker = { id: newKeyId({ id: '', limit: null }), org: org.id, limit: null, limits } as KeyRecord;
const key = { id: newKeyId(maker), org: org.id, limit: null } as KeyRecord;

test.each([
  ['whose maker has rate limits only is not limited', [maker], true, false],
  ['whose maker has a spending limit is limited', [{ ...maker, limit }], true, true],
  ['whose maker was revoked is limited', [], true, true],
  ['is limited while its makers may have changed unnoticed', [maker], false, true],
])('a key %s', (_, makers, fresh, limited) => {
  const peek = (at: string) => makers.find(({ org, id }) => keyRecordKey(org, id) === at) ?? null;
  const spending = new Spending({
    keys: { fresh, peek },
    orgs: { peek: () => org, lookup: () => org },
  });
  expect(spending.isLimited(key)).toBe(limited);
});
