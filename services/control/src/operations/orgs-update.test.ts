// Each change of an account publishes an event. Uses a real nats-server.
import { type Bus, openBucket, request } from '@switchyard/bus';
import {
  DEFAULT_ORG,
  eventIds,
  eventSubject,
  toMarkup,
  type UpdateOrgRequest,
  updateOrgRequest,
} from '@switchyard/contracts';
import type { EventLog } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestControl, type TestControl } from '../__fixtures__/test-control.ts';

let bus: Bus;
let control: TestControl;
let events: EventLog;

beforeAll(async () => {
  control = await startTestControl({ env: { SWITCHYARD_COMPUTERS: 'off' } });
  ({ bus, events } = control);
});
afterAll(() => control?.stop());

const update = (body: UpdateOrgRequest) =>
  request(bus, 'orgs.update', { org: DEFAULT_ORG, key_id: 'key_1', id: DEFAULT_ORG, body });

test('each change of an account publishes an event with the new values and the key that changed them', async () => {
  await update({ monthly_limit: 0.25 });
  await expect(update({ billing: 'prepaid', monthly_limit: 1 })).rejects.toMatchObject({
    code: 'invalid_request',
  });
  await update({ billing: 'prepaid', monthly_limit: null });
  await events.until('prepaid', ({ data }) => 'billing' in data && data.billing === 'prepaid');
  const changes = events.of('account.updated');
  const changed = { org: DEFAULT_ORG, by_key_id: 'key_1' };
  expect(changes.map(({ data }) => data)).toEqual([
    { ...changed, billing: 'postpaid', monthly_limit_nano: '250000000' },
    { ...changed, billing: 'prepaid', monthly_limit_nano: null },
  ]);
  expect(changes.map(eventSubject)).toEqual(changes.map(() => `event.v1.account.updated.${DEFAULT_ORG}`));
  const [first, second] = changes.map(({ id }) => id);
  expect(first).not.toBe(second);
  expect(second).toBe(eventIds.accountUpdated(DEFAULT_ORG, Number(second?.split(':').at(-1))));
});

test('a mark-up is kept as a plain decimal until it is changed, and 0 removes it', async () => {
  const own = { org: DEFAULT_ORG, key_id: 'key_1', id: DEFAULT_ORG };
  expect((await update({ markup_percent: '12.5' })).markup_percent).toBe('12.5');
  expect((await update({ name: 'renamed' })).markup_percent).toBe('12.5');
  expect((await request(bus, 'orgs.get', own)).markup_percent).toBe('12.5');
  expect((await update({ markup_percent: '0.00' })).markup_percent).toBe('0');
  expect(await (await openBucket(bus, 'orgs')).get(DEFAULT_ORG)).not.toHaveProperty('value.markup_percent');
});

test.each([
  [12.5, '12.5'],
  ['12.50', '12.5'],
  [1_000, '1000'],
  [0.07, '0.07'],
])('the percentage %s is read as %s', (given, read) => {
  const { markup_percent } = updateOrgRequest.parse({ markup_percent: given });
  expect(toMarkup(markup_percent)).toEqual({ markup_percent: read });
});

test.each([-1, 1_000.01, 12.345, '12.345', '1e2', '-5', '', ' 5', '1001', '12,5', null, true])(
  'the percentage %j is refused',
  (given) => {
    expect(updateOrgRequest.safeParse({ markup_percent: given }).success).toBe(false);
  },
);
