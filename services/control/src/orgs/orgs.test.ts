// Orgs on a real nats-server, with a clock that the test controls and a billing that grants or refuses credits.
import { type Bucket, type Bus, openBucket, openObjectStore, request, serve } from '@switchyard/bus';
import {
  type ComputerRecord,
  type CreatedOrg,
  type CreateOrgRequest,
  computerPlacement,
  DEFAULT_ORG,
  DELETED_ORG_DAYS,
  type FileRecord,
  fileKey,
  type HostHeartbeat,
  type KeyRecord,
  keyRecordKey,
  makersOf,
  newComputerRecord,
  newId,
  newKeyId,
  type OrgRecord,
  placementKey,
  recordKey,
  ServiceError,
  STANDARD_IMAGE,
  TENANT_PERMISSIONS,
  type UpdateOrgRequest,
  type WebhookRecord,
} from '@switchyard/contracts';
import { type EventLog, FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestControl, type TestControl } from '../__fixtures__/test-control.ts';
import { firstKeyId } from '../keys/first-key.ts';
import { hashKey } from '../keys/secret.ts';
import { webhookKey } from '../webhooks/webhook-records.ts';

const FIRST = 'sy_the_first_key_of_all';
const caller = { org: DEFAULT_ORG, key_id: firstKeyId(FIRST) };
const DAY_MS = 24 * 3_600_000;
const clock = new FakeClock();

let bus: Bus;
let control: TestControl;
let events: EventLog;
let orgs: Bucket<OrgRecord>;
let keys: Bucket<KeyRecord>;
let files: Bucket<FileRecord>;
let computers: Bucket<ComputerRecord>;
let webhooks: Bucket<WebhookRecord>;
/** Credits that were asked for; billing refuses them while `isBillingDown`. */
let granted: { org: string; amount: number }[] = [];
let isBillingDown = false;
/** Happens while credits are granted. */
let meanwhile = async () => {};

beforeAll(async () => {
  control = await startTestControl({ clock, env: { SWITCHYARD_KEY: FIRST } });
  ({ bus, events } = control);
  const billing = await serve(bus, { name: 'billing', version: '0.0.1', description: 'of a test' });
  billing.handle('credits.create', async ({ org, key_id, body: { amount, reason } }) => {
    if (isBillingDown) throw new ServiceError('service_unavailable', 'billing is down');
    await meanwhile();
    granted.push({ org, amount });
    const created_at = new Date().toISOString();
    return { id: newId('credit'), object: 'credit', amount, reason, reference: null, key_id, created_at };
  });
  [orgs, keys, files, computers, webhooks] = await Promise.all([
    openBucket(bus, 'orgs'),
    openBucket(bus, 'keys'),
    openBucket(bus, 'files'),
    openBucket(bus, 'computers'),
    openBucket(bus, 'webhooks'),
  ]);
});
afterAll(() => control?.stop());
beforeEach(() => {
  granted = [];
  isBillingDown = false;
  meanwhile = async () => {};
});

interface Placed {
  state?: ComputerRecord['state'];
  /** Bus of the control that is asked. */
  to?: Bus;
}

/** @returns the key of its record */
async function placeComputer(org: string, host: string, { state = 'stopped', to = bus }: Placed = {}) {
  const record = newComputerRecord({
    ...{ id: newId('computer'), org, key_id: newId('key'), host, name: 'test' },
    ...{ image: STANDARD_IMAGE, cpu: 1, memory_mb: 512, disk_gb: 1, metadata: {} },
    rates: { per_minute: '0', per_vcpu_minute: '0', per_gb_memory_minute: '0', per_gb_disk_minute: '0' },
    created_at: new Date(clock.now()).toISOString(),
  });
  const placements = await openBucket(to, 'computer-placements');
  await placements.put(placementKey(org, record.id), computerPlacement.parse(record));
  await (await openBucket(to, 'computers')).put(recordKey(record), { ...record, state });
  return recordKey(record);
}

/** @returns its key */
async function makeWebhook(org: string): Promise<string> {
  const now = new Date(clock.now()).toISOString();
  const record: WebhookRecord = {
    ...{ id: newId('webhook'), org, url: 'https://example.com', events: ['*'], description: null },
    ...{ status: 'disabled', disabled_reason: 'user', failing_since: null, last_error: null },
    ...{
      created_at: now,
      secrets: [{ secret: 'whsec_dGVzdA==', until: null }],
      generation: 1,
      enabled_at: now,
    },
  };
  await webhooks.create(webhookKey(record), record);
  return webhookKey(record);
}

const heartbeat = (id: string, atMs: number): HostHeartbeat => ({
  ...{ id, at: new Date(atMs).toISOString(), cpu_total: 1, cpu_used: 0 },
  ...{ memory_mb_total: 1_024, memory_mb_used: 0, computers: 1, disk_mb_free: null, disk_mb_free_min: null },
  ...{ image_ready: true, image_progress: null, refuses: null, cordoned: false },
});

const create = (body: Partial<CreateOrgRequest> = {}): Promise<CreatedOrg> =>
  request(bus, 'orgs.create', { ...caller, body: { name: 'Acme', billing: 'postpaid', ...body } });
const update = (id: string, body: UpdateOrgRequest) => request(bus, 'orgs.update', { ...caller, id, body });
const remove = (id: string) => request(bus, 'orgs.delete', { ...caller, id });
const get = (id: string) => request(bus, 'orgs.get', { ...caller, id });
const keyOf = async (org: string, id: string) => (await keys.get(keyRecordKey(org, id)))?.value ?? null;
const eventsOf = (id: string) => events.all.filter(({ data }) => data.org === id);

describe('an org that is created', () => {
  test('has a first key with every permission but that of the operator, its credits, and an event', async () => {
    const { key, key_id, ...org } = await create({ billing: 'prepaid', credits: 25 });
    expect(org).toMatchObject({ object: 'org', name: 'Acme', status: 'active', billing: 'prepaid' });
    expect(granted).toEqual([{ org: org.id, amount: 25 }]);
    expect(await keyOf(org.id, key_id)).toMatchObject({
      ...{ id: key_id, org: org.id, permissions: TENANT_PERMISSIONS },
      secrets: [{ hash: hashKey(key), until: null }],
      ...{ limit: null, models: null, expires_at: null },
    });
    expect(await get(org.id)).toEqual(org);
    await events.until('created', ({ id }) => id === `${org.id}:created`);
  });

  test('is not made when its credits cannot be granted', async () => {
    isBillingDown = true;
    const before = await orgs.keys();
    await expect(create({ credits: 1 })).rejects.toMatchObject({ code: 'service_unavailable' });
    expect((await orgs.keys()).sort()).toEqual(before.sort());
  });

  test('is not made when its key cannot be created', async () => {
    const body = { name: 'an operator', permissions: ['operator' as const] };
    const { id: key_id } = await request(bus, 'keys.create', { ...caller, body });
    meanwhile = async () => void (await request(bus, 'keys.delete', { ...caller, id: key_id }));
    const before = await orgs.keys();
    const asked = request(bus, 'orgs.create', {
      ...{ org: DEFAULT_ORG, key_id },
      body: { name: 'Acme', billing: 'prepaid', credits: 1 },
    });
    await expect(asked).rejects.toMatchObject({ code: 'invalid_api_key' });
    expect(granted).toHaveLength(1);
    expect((await orgs.keys()).sort()).toEqual(before.sort());
  });

  test('is refused a monthly limit when it is prepaid', async () => {
    const refused = create({ billing: 'prepaid', monthly_limit: 5 });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request', param: 'monthly_limit' });
  });

  test('gets more keys from its operator, none of them with `operator`', async () => {
    const { id } = await create();
    const more = (permissions: KeyRecord['permissions']) =>
      request(bus, 'orgs.keys.create', { ...caller, id, body: { name: 'more', permissions } });
    const made = await more(['models:write', 'keys:write']);
    expect(await keyOf(id, made.id)).toMatchObject({ org: id, permissions: ['models:write', 'keys:write'] });
    const refusal = { code: 'permission_denied', param: 'permissions' };
    await expect(more(['operator'])).rejects.toMatchObject(refusal);
    const own = { org: id, key_id: made.id };
    const body = { name: 'mine', permissions: ['operator' as const] };
    await expect(request(bus, 'keys.create', { ...own, body })).rejects.toMatchObject(refusal);
    await expect(
      request(bus, 'keys.update', { ...own, id: own.key_id, body: { permissions: ['operator'] } }),
    ).rejects.toMatchObject(refusal);
  });
});

test('an operator key with bounds makes no key without them in its own org', async () => {
  const limit = { amount: 10, interval: 'day' as const };
  const body = { name: 'operator for a day', permissions: ['operator' as const], limit };
  const { id: key_id } = await request(bus, 'keys.create', { ...caller, body });
  const own = { org: DEFAULT_ORG, key_id };
  const make = (id: string, permissions: KeyRecord['permissions']) =>
    request(bus, 'orgs.keys.create', { ...own, id, body: { name: 'more', permissions } });
  await expect(make(DEFAULT_ORG, ['models:write'])).rejects.toMatchObject({ code: 'permission_denied' });
  expect(await make(DEFAULT_ORG, ['operator'])).toMatchObject({ limit });
  const tenant = await create();
  expect(await make(tenant.id, ['models:write'])).toMatchObject({ limit: null });
  await request(bus, 'keys.delete', { ...caller, id: key_id });
  await expect(make(tenant.id, ['models:write'])).rejects.toMatchObject({ code: 'invalid_api_key' });
});

test('a key that an operator makes for a tenant has no line, and outlives the keys of the operator', async () => {
  const limit = { amount: 10, interval: 'day' as const };
  const body = { name: 'operator', permissions: ['operator' as const, 'keys:write' as const] };
  const above = await request(bus, 'keys.create', { ...caller, body: { ...body, limit } });
  const below = await request(bus, 'keys.create', { org: DEFAULT_ORG, key_id: above.id, body });
  const tenant = await request(bus, 'orgs.create', {
    ...{ org: DEFAULT_ORG, key_id: below.id },
    body: { name: 'Acme', billing: 'postpaid' },
  });
  expect(makersOf(below.id)).toEqual([above.id]);
  expect(makersOf(tenant.key_id)).toEqual([]);

  await request(bus, 'keys.delete', { ...caller, id: above.id });
  const record = (await keyOf(tenant.id, tenant.key_id)) as KeyRecord;
  const orphanId = newKeyId({ id: newId('key'), limit });
  const orphan = keyRecordKey(tenant.id, orphanId);
  await keys.create(orphan, { ...record, id: orphanId });
  await expect
    .poll(() => {
      clock.advance(60_000);
      return keys.get(orphan);
    })
    .toBeNull();
  expect(await keyOf(tenant.id, tenant.key_id)).toEqual(record);
});

test('orgs are listed by id, in pages', async () => {
  for (let made = 0; made < 3; made++) await create();
  const ids = (await orgs.keys()).sort();
  expect(ids).toContain(DEFAULT_ORG);
  const listed: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: 2, ...(cursor === undefined ? {} : { cursor }) };
    const page = await request(bus, 'orgs.list', { ...caller, query });
    listed.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  expect(listed).toEqual(ids);
});

test('an unknown org is not found', async () => {
  for (const id of ['org_unknown', '*', '>', 'org_a.b', ''])
    for (const ask of [() => get(id), () => update(id, { name: 'x' }), () => remove(id)])
      await expect(ask()).rejects.toMatchObject({ code: 'org_not_found' });
});

describe('an org that is suspended', () => {
  test('is restored by its status; each change is one event', async () => {
    const { id } = await create();
    expect(await update(id, { status: 'suspended' })).toMatchObject({
      status: 'suspended',
      removed_at: null,
    });
    await update(id, { status: 'suspended' });
    expect(await update(id, { status: 'active' })).toMatchObject({ status: 'active', suspended_at: null });
    await events.until('restored', ({ type, data }) => type === 'org.restored' && data.org === id);
    const types = eventsOf(id).map(({ type }) => type);
    expect(types).toEqual(['org.created', 'key.created', 'org.suspended', 'org.restored']);
  });

  test('is left alone by a sweep that began before it was restored; silent hosts are not asked', async () => {
    const held = await create();
    const restored = await create();
    const last = await create();
    for (const { id } of [held, restored, last]) await update(id, { status: 'suspended' });
    const hosts = await openBucket(bus, 'hosts');
    const agents = await serve(bus, { name: 'computer-agent', version: '0.0.1', description: 'of a test' });
    const asked: string[] = [];
    const released = Promise.withResolvers<void>();
    const hostOf = (org: string) => {
      const host = `host_${org}`;
      agents.handleHost(host, 'stop', async () => {
        asked.push(org);
        if (org === held.id) await released.promise;
        throw new ServiceError('service_unavailable', 'stops later');
      });
      return host;
    };
    const beat = async (...from: string[]) => {
      for (const host of from) await hosts.put(host, heartbeat(host, clock.now()));
    };
    const [ofHeld, ofRestored, ofLast] = [hostOf(held.id), hostOf(restored.id), hostOf(last.id)];
    await placeComputer(held.id, ofHeld, { state: 'running' });
    await placeComputer(held.id, hostOf('silent'), { state: 'running' });
    await placeComputer(last.id, ofLast, { state: 'running' });
    await expect
      .poll(async () => {
        await beat(ofHeld, ofLast);
        clock.advance(30_000); // until the next sweep that knows the hosts
        return asked;
      })
      .toContain(held.id);
    await update(restored.id, { status: 'active' });
    await placeComputer(restored.id, ofRestored, { state: 'running' });
    await beat(ofRestored, ofLast);
    released.resolve();
    await expect.poll(() => asked).toEqual([held.id, last.id]);
    for (const { id } of [held, last]) await update(id, { status: 'active' }); // no sweep asks their hosts again
    await agents.drain();
  });

  test('is never the org of the operator', async () => {
    for (const ask of [() => update(DEFAULT_ORG, { status: 'suspended' }), () => remove(DEFAULT_ORG)])
      await expect(ask()).rejects.toMatchObject({ code: 'invalid_request', param: 'id' });
  });
});

describe('an org that is deleted', () => {
  test('is suspended, keeps the date of the first deletion, and can be restored', async () => {
    const { id } = await create();
    const first = await remove(id);
    const removed_at = new Date(clock.now() + DELETED_ORG_DAYS * DAY_MS).toISOString();
    expect(first).toMatchObject({ status: 'suspended', removed_at });
    clock.advance(1_000);
    expect(await remove(id)).toMatchObject({ suspended_at: first.suspended_at, removed_at });
    expect(await update(id, { status: 'active' })).toMatchObject({ status: 'active', removed_at: null });
  });

  test('cannot be restored once its data are being removed', async () => {
    const { id } = await create();
    await remove(id);
    const entry = await orgs.get(id);
    if (!entry) throw new Error('the org is there');
    await orgs.put(id, { ...entry.value, removed_at: new Date(clock.now()).toISOString() });
    await expect(update(id, { status: 'active' })).rejects.toMatchObject({ code: 'org_not_found' });
  });

  test('keeps its data for 30 days; then its computers, files, webhooks, keys and record are gone', async () => {
    const { id, key_id } = await create();
    const computer = await placeComputer(id, 'host_silent');
    const webhook = await makeWebhook(id);
    const other = await create();
    const file = newId('file');
    const content = await openObjectStore(bus, 'files');
    const record: FileRecord = {
      ...{ id: file, org: id, filename: 'a.txt', purpose: 'user_data', media_type: 'text/plain' },
      bytes: 0,
      ...{ sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' },
      created_at: new Date(clock.now()).toISOString(),
    };
    await files.create(fileKey(id, file), record);
    await remove(id);
    clock.advance((DELETED_ORG_DAYS - 1) * DAY_MS);
    expect(await files.keys(`${id}.>`)).toHaveLength(1);
    expect(await keyOf(id, key_id)).not.toBeNull();
    clock.advance(2 * DAY_MS);
    await expect
      .poll(() => {
        clock.advance(60_000); // until a sweep that knows of the deletion
        return orgs.get(id);
      })
      .toBeNull();
    expect(await files.keys(`${id}.>`)).toEqual([]);
    expect(await content.info(fileKey(id, file))).toBeNull();
    expect(await keyOf(id, key_id)).toBeNull();
    expect(await keyOf(other.id, other.key_id)).not.toBeNull();
    expect((await computers.get(computer))?.value.state).toBe('deleting'); // the rest when its silent host returns
    expect(await webhooks.get(webhook)).toBeNull();
    await events.until('removed', ({ type, data }) => type === 'org.removed' && data.org === id);
  });

  test('is removed with its computer where computers are switched off', async () => {
    const off = await startTestControl({
      clock,
      env: { SWITCHYARD_KEY: FIRST, SWITCHYARD_COMPUTERS: 'off' },
    });
    const body = { name: 'Acme', billing: 'postpaid' as const };
    const { id } = await request(off.bus, 'orgs.create', { ...caller, body });
    await placeComputer(id, 'host_silent', { to: off.bus });
    await request(off.bus, 'orgs.delete', { ...caller, id });
    clock.advance((DELETED_ORG_DAYS + 1) * DAY_MS);
    const removed = () => off.events.of('org.removed').map(({ data }) => data.org);
    await expect
      .poll(() => {
        clock.advance(60_000); // until a sweep that knows of the deletion
        return removed();
      })
      .toContain(id);
    await off.stop();
  });

  test('loses all else, and stays refused, while its computer cannot be removed', async () => {
    const { id, key_id } = await create();
    const hosts = await openBucket(bus, 'hosts');
    await placeComputer(id, 'host_mute');
    const webhook = await makeWebhook(id);
    await remove(id);
    clock.advance(DELETED_ORG_DAYS * DAY_MS - 60_000);
    await expect
      .poll(async () => {
        await hosts.put('host_mute', heartbeat('host_mute', clock.now()));
        clock.advance(1_000); // until the sweep that removes the org; the host is not silent meanwhile
        return keyOf(id, key_id);
      })
      .toBeNull();
    expect(await webhooks.get(webhook)).toBeNull();
    expect(await orgs.get(id)).not.toBeNull();
    await hosts.delete('host_mute');
    await expect
      .poll(() => {
        clock.advance(60_000); // until the next sweep that knows the host to be silent
        return orgs.get(id);
      })
      .toBeNull();
  });
});
