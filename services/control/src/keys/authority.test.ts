// What a key may do to other keys, for each field that bounds a key and each operation. Uses a real nats-server.
import {
  type Bucket,
  type Bus,
  type EventPublisher,
  mirrorBucket,
  openBucket,
  request,
} from '@switchyard/bus';
import {
  ALL_PERMISSIONS,
  type CreatedKey,
  type CreateKeyRequest,
  DEFAULT_ORG,
  eventIds,
  KEY_LINE_MAX,
  type KeyRecord,
  keyRecordKey,
  makersOf,
  NO_RATE_LIMITS,
  newId,
} from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestControl, type TestControl } from '../__fixtures__/test-control.ts';
import { keyHandlers } from '../operations/keys.ts';
import { createKey } from '../operations/keys-create.ts';
import { firstKeyId } from './first-key.ts';
import { hashKey } from './secret.ts';

const FIRST = 'sy_the_first_key_of_all';
const clock = new FakeClock();
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(clock.now() + days * DAY_MS).toISOString();

let control: TestControl;
let bus: Bus;
let keys: Bucket<KeyRecord>;

beforeAll(async () => {
  control = await startTestControl({ clock, env: { SWITCHYARD_KEY: FIRST, SWITCHYARD_COMPUTERS: 'off' } });
  bus = control.bus;
  keys = await openBucket(bus, 'keys');
});
afterAll(() => control?.stop());

type Bounds = Partial<Pick<KeyRecord, 'permissions' | 'models' | 'expires_at' | 'limit' | 'limits'>>;

/** Creates a key that has only these bounds. */
async function put(bounds: Bounds): Promise<KeyRecord> {
  const id = newId('key');
  const record: KeyRecord = {
    ...{ id, org: DEFAULT_ORG, name: 'test', permissions: [...ALL_PERMISSIONS], prefix: 'sy_test' },
    ...{ created_at: new Date(clock.now()).toISOString(), expires_at: null, limit: null, models: null },
    ...{ secrets: [{ hash: hashKey(id), until: null }], ...bounds },
  };
  await keys.create(nameOf(record), record);
  return record;
}

const nameOf = ({ id }: { id: string }) => keyRecordKey(DEFAULT_ORG, id);
const as = ({ id }: { id: string }) => ({ org: DEFAULT_ORG, key_id: id });
const create = (by: { id: string }, body: Partial<CreateKeyRequest> = {}) =>
  request(bus, 'keys.create', { ...as(by), body: { name: 'made', permissions: ['keys:write'], ...body } });
const update = (by: { id: string }, { id }: { id: string }, body: object) =>
  request(bus, 'keys.update', { ...as(by), id, body });
const rotate = (by: { id: string }, { id }: { id: string }) =>
  request(bus, 'keys.rotate', { ...as(by), id, body: { grace_minutes: 0 } });
const remove = (by: { id: string }, { id }: { id: string }) => request(bus, 'keys.delete', { ...as(by), id });

const refused = (param: string) => ({ code: 'permission_denied', status: 403, param });

interface Field {
  readonly field: 'permissions' | 'models' | 'expires_at' | 'limit' | 'limits';
  readonly own: Bounds;
  /** Bounds wider than `own`. */
  readonly more: Bounds[];
  readonly less: Bounds;
}

const FIELDS: Field[] = [
  {
    field: 'permissions',
    own: { permissions: ['keys:write', 'computers:read'] },
    more: [{ permissions: ['keys:write', 'usage:read'] }, { permissions: ['computers:write'] }],
    less: { permissions: ['keys:write'] },
  },
  {
    field: 'models',
    own: { models: ['acme/*', 'local/chat'] },
    more: [{ models: null }, { models: ['local/*'] }, { models: ['acme/a', 'other/b'] }],
    less: { models: ['acme/a', 'local/chat'] },
  },
  {
    field: 'expires_at',
    own: { expires_at: inDays(10) },
    more: [{ expires_at: null }, { expires_at: inDays(11) }],
    less: { expires_at: inDays(9) },
  },
  {
    field: 'limit',
    own: { limit: { amount: 10, interval: 'week' } },
    more: [
      { limit: null },
      { limit: { amount: 10.5, interval: 'week' } },
      { limit: { amount: 10, interval: 'day' } },
    ],
    less: { limit: { amount: 9, interval: 'month' } },
  },
  {
    field: 'limits',
    own: { limits: { ...NO_RATE_LIMITS, requests_per_minute: 60, concurrent_calls: 5 } },
    more: [
      { limits: null },
      { limits: { ...NO_RATE_LIMITS, requests_per_minute: 60 } },
      { limits: { ...NO_RATE_LIMITS, requests_per_minute: 61, concurrent_calls: 5 } },
    ],
    less: {
      limits: {
        requests_per_minute: 30,
        tokens_per_minute: 1_000,
        concurrent_calls: 5,
        concurrent_commands: 1,
      },
    },
  },
];

const CASES = FIELDS.flatMap(({ field, own, more }) => more.map((one) => ({ field, own, more: one })));

describe.each(CASES)('a key with $own', ({ field, own, more }) => {
  test(`cannot create a key with ${JSON.stringify(more)}`, async () => {
    const permissions = own.permissions ?? ['keys:write'];
    const before = (await keys.entries()).length;
    await expect(create(await put(own), { permissions, ...more })).rejects.toMatchObject(refused(field));
    expect(await keys.entries()).toHaveLength(before + 1);
  });

  test(`cannot give ${JSON.stringify(more)} to itself or to a key that it created`, async () => {
    const weak = await put(own);
    const made = await create(weak, { permissions: ['keys:write'] });
    await expect(update(weak, weak, more)).rejects.toMatchObject(refused(field));
    await expect(update(weak, made, more)).rejects.toMatchObject(refused(field));
  });

  test(`cannot change, rotate or revoke a key with ${JSON.stringify(more)}`, async () => {
    const weak = await put(own);
    const strong = await put({ ...own, ...more });
    const denied = { ...refused('id'), message: expect.stringContaining(field) };
    await expect(update(weak, strong, { name: 'taken' })).rejects.toMatchObject(denied);
    await expect(update(weak, strong, own)).rejects.toMatchObject(denied);
    await expect(rotate(weak, strong)).rejects.toMatchObject(denied);
    await expect(remove(weak, strong)).rejects.toMatchObject(denied);
    expect((await keys.get(nameOf(strong)))?.value).toEqual(strong);
  });
});

describe.each(FIELDS)('a key with $own', ({ field, own, less }) => {
  test(`passes ${field} on to the keys that it creates, and manages them`, async () => {
    const maker = await put(own);
    const permissions = own.permissions ?? ['keys:write'];
    const made = await create(maker, { permissions });
    expect(made).toMatchObject(own);
    expect(await update(maker, made, less)).toMatchObject(less);
    expect((await rotate(maker, made)).id).toBe(made.id);
    expect(await remove(maker, made)).toMatchObject({ deleted: true });
  });

  test(`may narrow itself to ${JSON.stringify(less)}, and rotate and revoke itself`, async () => {
    const key = await put(own);
    expect(await update(key, key, less)).toMatchObject(less);
    expect((await rotate(key, key)).id).toBe(key.id);
    expect(await remove(key, key)).toMatchObject({ deleted: true });
  });
});

test('the key of SWITCHYARD_KEY creates and changes every key, whatever limits its own calls', async () => {
  const first = (await keys.get(nameOf({ id: firstKeyId(FIRST) })))?.value ?? { id: '' };
  await update(first, first, { limit: { amount: 1, interval: 'month' }, models: ['acme/*'] });
  const made = await create(first, { permissions: ALL_PERMISSIONS, limit: { amount: 2, interval: 'day' } });
  expect(made).toMatchObject({ models: null, expires_at: null });
  expect(makersOf(made.id)).toEqual([]);
  expect(await update(first, made, { limit: null })).toMatchObject({ limit: null });
  expect(await update(first, first, { limit: null, models: null })).toMatchObject({ limit: null });
});

describe('a key with a spending limit', () => {
  const limit = { amount: 10, interval: 'month' } as const;

  test('manages no key whose spending does not count in its limit, however small the other limit is', async () => {
    const [key, other] = [await put({ limit }), await put({ limit: { amount: 1, interval: 'month' } })];
    const denied = { ...refused('id'), message: expect.stringContaining('limit') };
    await expect(rotate(key, other)).rejects.toMatchObject(denied);
    const permissions = ALL_PERMISSIONS;
    const [one, two] = [await create(key, { permissions }), await create(key, { permissions })];
    await expect(rotate(one, two)).rejects.toMatchObject(denied);
    await expect(update(one, key, { name: 'taken' })).rejects.toMatchObject(denied);
  });

  test('is in the ids of all keys below it, also when their own limits were removed', async () => {
    const key = await put({ limit });
    const line = [key.id];
    for (let i = 1; i < KEY_LINE_MAX; i++) {
      const made = await create({ id: line.at(-1) ?? '' });
      expect(makersOf(made.id)).toEqual(line);
      await update(await put({}), made, { limit: null });
      line.push(made.id);
    }
    await expect(create({ id: line.at(-1) ?? '' })).rejects.toMatchObject({ code: 'permission_denied' });
  });

  test('is changed, rotated or revoked by no key below it, also when their own limits were removed', async () => {
    const key = await put({ limit });
    const made = await create(key, { permissions: ALL_PERMISSIONS });
    await update(await put({}), made, { limit: null });
    await expect(update(made, key, { limit: null })).rejects.toMatchObject(refused('id'));
    await expect(rotate(made, key)).rejects.toMatchObject(refused('id'));
    await expect(remove(made, key)).rejects.toMatchObject(refused('id'));
    const below = await create(made, { limit });
    expect(await update(made, below, { limit: null })).toMatchObject({ limit: null });
  });

  test('revokes the keys below it when it is revoked', async () => {
    const key = await put({ limit });
    const child = await create(key);
    const grandchild = await rotate(key, await create(child));
    await remove(await put({}), key);
    const family = [key.id, child.id, grandchild.id];
    const left = (await keys.entries()).filter(({ value: { id } }) =>
      [id, ...makersOf(id)].some((one) => family.includes(one)),
    );
    expect(left).toEqual([]);
  });

  test('leaves no key below it when its revocation is interrupted', async () => {
    const [key, other] = [await put({ limit }), await put({ limit })];
    const [child, spared] = [await create(key), await create(other)];
    const grandchild = await rotate(key, await create(child));
    await keys.delete(nameOf(key)); // the revocation ended after this
    const left = async () => (await keys.entries()).map(({ value }) => value.id);
    await expect
      .poll(() => {
        clock.advance(60_000);
        return left();
      })
      .not.toContain(grandchild.id);
    expect(await left()).not.toContain(child.id);
    expect(await left()).toContain(spared.id);
    await control.events.until('revoked', ({ id }) => id === eventIds.key(grandchild.id, 'revoked'));
  });

  test('leaves no key that it creates at the moment of its revocation', async () => {
    const [key, admin] = [await put({ limit }), await put({})];
    const slow = {
      name: keys.name,
      get: (name: string) => keys.get(name),
      lastWrite: (name: string) => keys.lastWrite(name),
      delete: (name: string) => keys.delete(name),
      async create(name: string, record: KeyRecord) {
        await remove(admin, key);
        return keys.create(name, record);
      },
    };
    const known = { valuesUnder: () => [] };
    const events = { publish: async () => {} };
    const body = { name: 'late', permissions: ['keys:write' as const] };
    const making = createKey({ keys: slow, known, events, clock } as never)(
      { ...as(key), body },
      { requestId: null },
    );
    await expect(making).rejects.toMatchObject({ code: 'invalid_api_key' });
    expect((await keys.entries()).filter(({ value }) => makersOf(value.id).includes(key.id))).toEqual([]);
  });
});

test('a rate limit that is left out stays as it is, and null removes it', async () => {
  const admin = await put({});
  const key = await put({ limits: { ...NO_RATE_LIMITS, requests_per_minute: 60, concurrent_calls: 5 } });
  const narrowed = await update(key, key, { limits: { requests_per_minute: 10 } });
  expect(narrowed.limits).toEqual({ ...NO_RATE_LIMITS, requests_per_minute: 10, concurrent_calls: 5 });
  const made = await create(key, { limits: { concurrent_calls: 1 } });
  expect(made.limits).toEqual({ ...NO_RATE_LIMITS, requests_per_minute: 10, concurrent_calls: 1 });
  expect(makersOf(made.id)).toEqual([key.id]);
  const freed = await update(admin, key, { limits: null });
  expect(freed.limits).toEqual(NO_RATE_LIMITS);
});

test('no key expires after the year 9999 in UTC, which its record cannot hold', async () => {
  const admin = await put({});
  const expires_at = '9999-12-31T23:59:59-05:00';
  const wrong = { code: 'invalid_request', param: 'body.expires_at' };
  await expect(create(admin, { expires_at })).rejects.toMatchObject(wrong);
  await expect(update(admin, admin, { expires_at })).rejects.toMatchObject(wrong);
  const latest = '9999-12-31T23:59:59.999Z';
  expect(await create(admin, { expires_at: latest })).toMatchObject({ expires_at: latest });
});

test('a list has the keys that another instance made a moment ago', async () => {
  const admin = await put({});
  const own = await mirrorBucket(bus, keys);
  // Its watch delivers the new key after the list is asked for.
  const late = new Proxy(own, {
    get(target, name) {
      if (name !== 'caughtUp') return Reflect.get(target, name).bind(target);
      return async () => {
        made.push(await create(admin));
        return target.caughtUp();
      };
    },
  });
  const made: CreatedKey[] = [];
  const deps = { ...{ keys, known: late, clock }, events: {} as EventPublisher };
  const { data } = await keyHandlers(deps)['keys.list']({ ...as(admin), query: { limit: 100 } });
  expect(made).toHaveLength(1);
  expect(data.map(({ id }) => id)).toContain(made[0]?.id);
  own.close();
});

test('a key that was just revoked cannot create a key', async () => {
  await expect(create({ id: 'key_gone' })).rejects.toMatchObject({ code: 'invalid_api_key' });
});
