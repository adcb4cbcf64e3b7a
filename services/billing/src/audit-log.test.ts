// The audit log of a running billing service: one line per administrative event, read by an org or by an operator.
import {
  AUDIT_LOG_DAYS,
  type AuditLogQuery,
  DEFAULT_ORG,
  type Event,
  type EventData,
  eventIds,
  makeEvent,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completed, credited } from './fixtures/events.ts';
import { startInstallation, type TestInstallation } from './fixtures/installation.ts';
import type { TestBilling } from './fixtures/running-billing.ts';
import { keepLogs } from './keep-logs.ts';
import { ensureIndexes } from './store/indexes.ts';

const DAY_MS = 24 * 3_600_000;
const START = Date.parse('2026-11-20T10:00:00Z');
const logger = makeLogger('test', 'silent');
const by = { actor: { key_id: 'key_operator', org: DEFAULT_ORG }, request_id: 'req_1' };

let installation: TestInstallation;
let billing: TestBilling;
beforeAll(async () => {
  installation = await startInstallation();
  billing = await installation.startBilling();
});
afterAll(() => installation?.stop());

interface KeyEventOptions {
  readonly org: string;
  readonly minute: number;
  readonly data?: Partial<EventData<'key.created'>>;
}

function keyCreated(key_id: string, { org, minute, data }: KeyEventOptions): Event<'key.created'> {
  const changes = { metadata: { from: null, to: { 'cost.centre': 'a', $team: 'b' } } };
  return makeEvent({
    ...{ name: 'key.created', id: eventIds.key(key_id, 'created'), source: '/switchyard/control' },
    time: new Date(START + minute * 60_000),
    data: { key_id, org, by_key_id: by.actor.key_id, ...by, changes, ...data },
  });
}

async function read(query: AuditLogQuery = {}, org?: string) {
  const caller = { org: org ?? DEFAULT_ORG, key_id: 'key_1', all_orgs: org === undefined };
  return installation.client.ask('audit-log.list', { ...caller, query });
}
const idsOf = async (...asked: Parameters<typeof read>) => (await read(...asked)).data.map(({ id }) => id);

test('an administrative event adds one line, however often it is delivered; other events add none', async () => {
  const made = keyCreated('key_once', { org: 'org_once', minute: 0 });
  await installation.client.publish(made, completed('req_of_a_call', 1n, { org: 'org_once' }), made);
  await installation.client.publish(made);
  expect((await read({}, 'org_once')).data).toEqual([
    {
      ...{ object: 'audit_entry', id: 'key_once:created', type: 'key.created', org: 'org_once' },
      ...{ at: made.time, target: 'key_once', ...by, changes: made.data.changes },
    },
  ]);
});

test('a credit adds a line with its operator, amount and reason', async () => {
  await installation.client.publish(
    credited('crd_1', 5_000_000_000n, { org: 'org_credited', key_id: 'key_operator' }),
  );
  expect((await read({}, 'org_credited')).data).toMatchObject([
    {
      ...{ id: 'crd_1', type: 'credit.granted', target: 'crd_1', actor: by.actor, request_id: null },
      changes: { amount: { from: null, to: 5 }, reason: { from: null } },
    },
  ]);
});

test('a refund adds a line; one that billing rejects adds none', async () => {
  const org = 'org_refunded';
  const refund = (number: number, amount: bigint) =>
    makeEvent({
      ...{ name: 'charge.refunded', id: eventIds.refund('req_r', number), source: '/switchyard/billing' },
      time: new Date(START),
      data: {
        ...{ refund_id: `rfd_${number}`, org, key_id: 'key_operator', charge: 'req_r', request_id: 'req_r' },
        ...{ number, amount_nano: String(amount), reason: 'test', reference: null },
      },
    });
  await installation.client.publish(completed('req_r', 10n, { org }));
  await installation.client.publish(refund(1, 6n));
  await installation.client.publish(refund(2, 6n));
  expect(await idsOf({}, org)).toEqual(['req_r:refund:1']);
  expect(await installation.database.store.rejected.countDocuments()).toBe(1);
});

test('an org reads only its own lines; an operator pages through those of all orgs, newest first', async () => {
  const orgs = ['org_x', 'org_y'];
  const events = Array.from({ length: 6 }, (_, minute) =>
    // Two at the same time: the id decides.
    keyCreated(`key_p${minute}`, { org: orgs[minute % 2] as string, minute: 10 + Math.floor(minute / 2) }),
  );
  await installation.client.publish(...events);
  expect(await idsOf({}, 'org_x')).toEqual([4, 2, 0].map((n) => `key_p${n}:created`));
  expect(await idsOf({ org: 'org_y' }, 'org_x')).toEqual(await idsOf({}, 'org_x'));
  expect(await idsOf({ org: 'org_y' })).toEqual([5, 3, 1].map((n) => `key_p${n}:created`));
  expect(await idsOf({ org: 'org_none' })).toEqual([]);
  const since = { from: new Date(START + 10 * 60_000).toISOString() };
  const listed: string[] = [];
  for (let after: string | null = null; ; ) {
    const page = await read({ ...since, limit: 4, ...(after === null ? {} : { after }) });
    listed.push(...page.data.map(({ id }) => id));
    after = page.next_cursor;
    if (after === null) break;
  }
  expect(listed.filter((id) => id.startsWith('key_p'))).toEqual(
    [5, 4, 3, 2, 1, 0].map((n) => `key_p${n}:created`),
  );
  const foreign = { ...since, after: 'key_p1:created' };
  await expect(read(foreign, 'org_x')).rejects.toMatchObject({ code: 'invalid_request', param: 'after' });
});

test('a new mark-up of an org is shown to operators only', async () => {
  const org = 'org_marked';
  await installation.client.publish(
    makeEvent({
      ...{ name: 'org.updated', id: eventIds.orgChanged(org, 'changed', 1), source: '/switchyard/control' },
      ...{ time: new Date(START), markup: '12.5' },
      data: { org, by_key_id: by.actor.key_id, ...by, changes: {} },
    }),
  );
  expect((await read({ org })).data).toMatchObject([{ type: 'org.updated', markup_percent: '12.5' }]);
  const [own] = (await read({}, org)).data;
  expect(own).toMatchObject({ type: 'org.updated', changes: {} });
  expect(own).not.toHaveProperty('markup_percent');
});

test('lines can be filtered by actor, type and time', async () => {
  const org = 'org_filtered';
  const other = { actor: { key_id: 'key_other', org }, request_id: null };
  await installation.client.publish(
    keyCreated('key_f1', { org, minute: 20 }),
    keyCreated('key_f2', { org, minute: 21, data: other }),
    makeEvent({
      ...{ name: 'webhook.deleted', id: eventIds.webhook('wh_f3', 'deleted'), source: '/switchyard/control' },
      ...{ time: new Date(START + 22 * 60_000), data: { org, webhook_id: 'wh_f3', ...other, changes: {} } },
    }),
  );
  expect(await idsOf({ actor: 'key_other' }, org)).toEqual(['wh_f3:deleted', 'key_f2:created']);
  expect(await idsOf({ actor: 'key_other', type: 'key.created' }, org)).toEqual(['key_f2:created']);
  const [from, to] = [20, 21].map((minute) => new Date(START + minute * 60_000).toISOString());
  expect(await idsOf({ from, to }, org)).toEqual(['key_f1:created']);
  await expect(read({ from: to, to: from }, org)).rejects.toMatchObject({ param: 'from' });
});

test('events published while billing was down get lines once it is back', async () => {
  await billing.stop();
  await installation.client.publish(keyCreated('key_later', { org: 'org_later', minute: 30 }));
  billing = await installation.startBilling();
  expect(await idsOf({}, 'org_later')).toEqual(['key_later:created']);
});

test('lines past their retention are removed, and no others', async () => {
  const { store } = await installation.openDatabase();
  await ensureIndexes(store);
  const row = { type: 'key.created' as const, org: 'org_a', target: 'key_1', actor: null, request_id: null };
  const at = (days: number) => new Date(START - days * DAY_MS);
  await store.auditLog.insertMany([
    { _id: 'old', at: at(AUDIT_LOG_DAYS + 1), changes: '{}', ...row },
    { _id: 'kept', at: at(AUDIT_LOG_DAYS - 1), changes: '{}', ...row },
  ]);
  const clock = new FakeClock(START);
  const stopping = new AbortController();
  const removing = keepLogs({ store, logDays: 0, clock, logger, signal: stopping.signal });
  await expect.poll(() => store.auditLog.countDocuments()).toBe(1);
  await expect.poll(() => clock.waiting).toBe(1);
  clock.advance(2 * DAY_MS);
  await expect.poll(() => store.auditLog.countDocuments()).toBe(0);
  stopping.abort();
  await removing;
});
