// Each change of administration is one event that says who made it, by which request, and what changed, without a
// secret. Uses a real nats-server, and a router that knows one maker.
import { type Bus, openBucket, request, serve } from '@switchyard/bus';
import { DEFAULT_ORG, type Event, type EventName, TENANT_PERMISSIONS } from '@switchyard/contracts';
import { type EventLog, FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestControl, type TestControl } from '../__fixtures__/test-control.ts';
import { firstKeyId } from '../keys/first-key.ts';
import { createWithEvents } from './write.ts';

const FIRST = 'sy_the_first_key_of_all';
const caller = { org: DEFAULT_ORG, key_id: firstKeyId(FIRST) };
const by = { requestId: 'req_of_the_change' };

let bus: Bus;
let control: TestControl;
let events: EventLog;

beforeAll(async () => {
  control = await startTestControl({
    clock: new FakeClock(),
    env: {
      SWITCHYARD_KEY: FIRST,
      SWITCHYARD_COMPUTERS: 'off',
      SWITCHYARD_EGRESS_ALLOW: '127.0.0.1',
      SWITCHYARD_PROVIDERS_SECRET: 'a secret of this test, long enough',
    },
  });
  ({ bus, events } = control);
  const router = await serve(bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  const acme = { id: 'acme', object: 'provider' as const, name: 'Acme', env: 'ACME_API_KEY', models: 1 };
  const keyless = { has_key: false, source: null, last4: null, updated_at: null, unusable_reason: null };
  router.handle('providers.list', async () => ({
    ...{ object: 'list', data: [{ ...acme, ...keyless }] },
    ...{ first_id: 'acme', last_id: 'acme', has_more: false, next_cursor: null },
  }));
});
afterAll(() => control?.stop());

/** The next event of this type after `work`, and what `work` returned. */
async function after<T>(type: EventName, work: () => Promise<T>): Promise<{ event: Event; result: T }> {
  const before = events.of(type).length;
  const result = await work();
  await events.until(type, () => events.of(type).length > before);
  expect(events.of(type)).toHaveLength(before + 1);
  return { event: events.of(type)[before] as Event, result };
}

const ofCaller = { actor: { key_id: caller.key_id, org: DEFAULT_ORG }, request_id: by.requestId };

test('events of a key say who changed it, and from what to what', async () => {
  const body = { name: 'ci', permissions: ['usage:read' as const] };
  const made = await after('key.created', () => request(bus, 'keys.create', { ...caller, body }, by));
  const { id, prefix, key } = made.result;
  expect(made.event.data).toMatchObject({
    ...{ ...ofCaller, org: DEFAULT_ORG, key_id: id },
    changes: { name: { from: null, to: 'ci' }, permissions: { from: null, to: ['usage:read'] } },
  });
  const models = Array.from({ length: 30 }, (_, n) => `acme/${'m'.repeat(200)}${n}`);
  const updated = await after('key.updated', () =>
    request(bus, 'keys.update', { ...caller, id, body: { name: 'deploy', models } }, by),
  );
  expect(updated.event.data).toMatchObject({
    ...ofCaller,
    changes: { name: { from: 'ci', to: 'deploy' }, models: { from: null } },
  });
  expect(Object.keys((updated.event as Event<'key.updated'>).data.changes ?? {})).toEqual(['name', 'models']);
  expect(JSON.stringify(updated.event).length).toBeLessThan(6_000);
  const rotated = await after('key.rotated', () =>
    request(bus, 'keys.rotate', { ...caller, id, body: { grace_minutes: 5 } }, by),
  );
  expect(rotated.event.data).toEqual({
    ...{ ...ofCaller, org: DEFAULT_ORG, key_id: id, by_key_id: caller.key_id },
    changes: { prefix: { from: prefix, to: rotated.result.prefix } },
  });
  const revoked = await after('key.revoked', () => request(bus, 'keys.delete', { ...caller, id }, by));
  expect(revoked.event.data).toMatchObject({ ...ofCaller, changes: { name: { from: 'deploy', to: null } } });
  const said = JSON.stringify(events.all);
  expect(said.includes(key) || said.includes(rotated.result.key)).toBe(false);
});

test('an org that is changed, suspended and restored has an event of each, by the operator', async () => {
  const made = await after('org.created', () =>
    request(bus, 'orgs.create', { ...caller, body: { name: 'Acme', billing: 'postpaid' } }, by),
  );
  const { id } = made.result;
  expect(made.event.data).toMatchObject({
    ...ofCaller,
    org: id,
    changes: { name: { from: null, to: 'Acme' } },
  });
  const change = { name: 'Acme Ltd', limits: { requests_per_minute: 60 }, status: 'suspended' as const };
  const updated = await after('org.updated', () =>
    request(bus, 'orgs.update', { ...caller, id, body: change }, by),
  );
  expect(updated.event.data).toMatchObject({
    ...{ ...ofCaller, org: id },
    changes: {
      name: { from: 'Acme', to: 'Acme Ltd' },
      limits: { from: { requests_per_minute: null }, to: { requests_per_minute: 60 } },
    },
  });
  const suspended = await events.until(
    'suspended',
    ({ type, data }) => type === 'org.suspended' && data.org === id,
  );
  expect(suspended.data).toMatchObject({ changes: { status: { from: 'active', to: 'suspended' } } });
  const restored = await after('org.restored', () =>
    request(bus, 'orgs.update', { ...caller, id, body: { status: 'active' } }, by),
  );
  expect(restored.event.data).toMatchObject({
    ...{ ...ofCaller, org: id },
    changes: { status: { from: 'suspended', to: 'active' } },
  });
  expect(events.of('org.updated').filter(({ data }) => data.org === id)).toHaveLength(1);
});

test('a mark-up that is set and changed is an attribute of the event, and not in the data that the org sees', async () => {
  const body = { name: 'Marked', billing: 'postpaid' as const, markup_percent: 12.5 };
  const made = await after('org.created', () => request(bus, 'orgs.create', { ...caller, body }, by));
  expect(made.event.markuppercent).toBe('12.5');
  const { id } = made.result;
  for (const markup_percent of ['20', '0']) {
    const change = { ...caller, id, body: { markup_percent } };
    const { event } = await after('org.updated', () => request(bus, 'orgs.update', change, by));
    expect(event).toMatchObject({ markuppercent: markup_percent, data: { ...ofCaller, changes: {} } });
  }
  const renamed = { ...caller, id, body: { name: 'Plain', markup_percent: 0 } };
  const { event } = await after('org.updated', () => request(bus, 'orgs.update', renamed, by));
  expect(event).not.toHaveProperty('markuppercent');
  for (const { data } of events.all) expect(JSON.stringify(data)).not.toContain('markup');
});

test('events of a tenant’s webhook and signing secret name the changing key, not the address', async () => {
  const tenant = await request(
    bus,
    'orgs.create',
    { ...caller, body: { name: 'T', billing: 'postpaid' } },
    by,
  );
  const own = { org: tenant.id, key_id: tenant.key_id };
  const ofOwn = { actor: { key_id: tenant.key_id, org: tenant.id }, request_id: by.requestId };
  expect(TENANT_PERMISSIONS).not.toContain('operator');
  const url = 'http://127.0.0.1:9/planted-token?key=planted-query';
  const made = await after('webhook.created', () =>
    request(bus, 'webhooks.create', { ...own, body: { url, events: ['key.*'] } }, by),
  );
  const { id } = made.result;
  expect(made.event.data).toMatchObject({
    ...{ ...ofOwn, webhook_id: id, org: tenant.id },
    changes: { url: { from: null, to: 'http://127.0.0.1:9/…' }, events: { from: null, to: ['key.*'] } },
  });
  const updated = await after('webhook.updated', () =>
    request(bus, 'webhooks.update', { ...own, id, body: { url: `${url}2`, events: ['*'] } }, by),
  );
  const origin = 'http://127.0.0.1:9/…';
  expect((updated.event as Event<'webhook.updated'>).data.changes).toEqual({
    url: { from: origin, to: origin },
    events: { from: ['key.*'], to: ['*'] },
  });
  const rotated = await after('webhook.rotated', () => request(bus, 'webhooks.rotate', { ...own, id }, by));
  expect(rotated.event.data).toEqual({ ...ofOwn, webhook_id: id, org: tenant.id, changes: {} });
  const gone = await after('webhook.deleted', () => request(bus, 'webhooks.delete', { ...own, id }, by));
  expect(gone.event.data).toMatchObject({ ...ofOwn, changes: { events: { from: ['*'], to: null } } });
  const signing = await after('signing_secret.rotated', () => request(bus, 'signing-secret.rotate', own, by));
  expect(signing.event.data).toEqual({ ...ofOwn, org: tenant.id, changes: {} });
  const said = JSON.stringify(events.all);
  const secrets = [made.result.secret, rotated.result.secret, signing.result.secret, tenant.key, 'planted-'];
  expect(secrets.filter((secret) => said.includes(secret))).toEqual([]);
});

test('events of a maker’s key say who changed it, and nothing of the key', async () => {
  const api_key = 'planted-provider-key';
  const expected = { ...ofCaller, org: DEFAULT_ORG, provider: 'acme', changes: {} };
  const set = await after('provider.updated', () =>
    request(bus, 'providers.set', { ...caller, maker: 'acme', body: { api_key } }, by),
  );
  expect(set.event.data).toEqual(expected);
  const again = await after('provider.updated', () =>
    request(bus, 'providers.set', { ...caller, maker: 'acme', body: { api_key } }, by),
  );
  expect(again.event.id).not.toBe(set.event.id);
  const removed = await after('provider.deleted', () =>
    request(bus, 'providers.delete', { ...caller, maker: 'acme' }, by),
  );
  expect(removed.event.data).toEqual(expected);
  await request(bus, 'providers.delete', { ...caller, maker: 'acme' }, by); // removes nothing
  await after('provider.updated', () =>
    request(bus, 'providers.set', { ...caller, maker: 'acme', body: { api_key } }, by),
  );
  expect(events.of('provider.deleted')).toHaveLength(1);
  expect(JSON.stringify(events.all).includes(api_key)).toBe(false);
});

test('a write with events is refused where nothing would publish them after a crash', async () => {
  const bucket = await openBucket(bus, 'computer-slots');
  const published = { bucket, events: { publish: async () => {} } };
  await expect(createWithEvents(published, 'org_x', {}, [])).rejects.toThrow('libs/bus/src/access.ts');
  expect(await bucket.keys()).toEqual([]);
});
