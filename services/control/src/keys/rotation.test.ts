// Rotation of keys on a real nats-server, with a clock that the test controls.
import { BUCKETS, type Bucket, type Bus, openBucket, request } from '@switchyard/bus';
import {
  DEFAULT_ORG,
  FORMER_SECRETS_MAX,
  KEYS_PER_ORG_MAX,
  type KeyRecord,
  type ListQuery,
  type RotatedKey,
  ServiceError,
  TAGS_MAX,
  TENANT_PERMISSIONS,
} from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTestControl, type TestControl } from '../__fixtures__/test-control.ts';
import { deleteKey } from '../operations/keys-delete.ts';
import { findKey } from './find-key.ts';
import { firstKeyId } from './first-key.ts';
import { hashKey, newSecret } from './secret.ts';

const FIRST = 'sy_the_first_key_of_all';
const caller = { org: DEFAULT_ORG, key_id: firstKeyId(FIRST) };
const MINUTE_MS = 60_000;
/** Models with the longest name that a key may have: 8 KiB of JSON. */
const MODELS_LENGTH_MAX = 31;
/** Repetitions of tests that depend on timing. */
const MOMENTS = 100;

let control: TestControl;
let bus: Bus;
let keys: Bucket<KeyRecord>;
/** Of the buckets of the test and of control. */
let prototype: Bucket<KeyRecord>;
const clock = new FakeClock();

beforeAll(async () => {
  control = await startTestControl({ clock, env: { SWITCHYARD_KEY: FIRST, SWITCHYARD_COMPUTERS: 'off' } });
  bus = control.bus;
  keys = await openBucket(bus, 'keys');
  prototype = Object.getPrototypeOf(keys);
});
afterAll(() => control?.stop());
afterEach(() => vi.restoreAllMocks());

const make = () =>
  request(bus, 'keys.create', {
    ...caller,
    body: { name: 'a', permissions: ['models:write'], limit: { amount: 5, interval: 'day' } },
  });
const rotate = (id: string, grace_minutes: number): Promise<RotatedKey> =>
  request(bus, 'keys.rotate', { ...caller, id, body: { grace_minutes } });
const untilUpdated = (id: string) =>
  control.events.until(
    'updated',
    ({ type, data }) => type === 'key.updated' && 'key_id' in data && data.key_id === id,
  );
const sizeOf = async (secret: string) => {
  const stored = await bus.jsm.streams.getMessage('KV_keys', { last_by_subj: `$KV.keys.${hashKey(secret)}` });
  return (stored?.data.length ?? 0) + Buffer.byteLength(String(stored?.header));
};
const recordOf = async (secret: string) => (await keys.get(hashKey(secret)))?.value ?? null;

describe('a key that is rotated', () => {
  test('keeps its id and gets a new secret; the former secret works until its grace period ends', async () => {
    const made = await make();
    const rotated = await rotate(made.id, 10);
    expect(rotated).toEqual({
      ...made,
      key: expect.stringMatching(/^sy_/),
      prefix: rotated.key.slice(0, made.prefix.length),
      former_until: new Date(clock.now() + 10 * MINUTE_MS).toISOString(),
    });
    expect(rotated.key).not.toBe(made.key);
    expect(await recordOf(rotated.key)).toMatchObject({ id: made.id, rotation: 1, limit: made.limit });
    expect(await recordOf(made.key)).toMatchObject({
      successor: hashKey(rotated.key),
      retires_at: rotated.former_until,
    });
    // The list comes from the mirror, which learns of both secrets one after the other.
    const listed = async () =>
      (await request(bus, 'keys.list', { ...caller, query: {} })).data.filter(({ id }) => id === made.id)
        .length;
    await expect.poll(listed).toBe(1);
  });

  test('without a grace period is refused under all its former secrets at once', async () => {
    const made = await make();
    const second = await rotate(made.id, 10);
    const third = await rotate(made.id, 0);
    expect(await Promise.all([made, second].map(({ key }) => recordOf(key)))).toEqual([null, null]);
    expect(await recordOf(third.key)).toMatchObject({ id: made.id, rotation: 2 });
  });

  test('again within its grace period keeps earlier secrets for their periods, pointing to the newest', async () => {
    const made = await make();
    const second = await rotate(made.id, 10);
    const third = await rotate(made.id, 60);
    const successor = hashKey(third.key);
    expect(await recordOf(made.key)).toMatchObject({ successor, retires_at: second.former_until });
    expect(await recordOf(second.key)).toMatchObject({ successor, retires_at: third.former_until });
  });

  test(`again and again within its grace period keeps its latest ${FORMER_SECRETS_MAX} former secrets`, async () => {
    const made = await make();
    const secrets = [made.key];
    for (let i = 0; i < FORMER_SECRETS_MAX + 2; i++) secrets.push((await rotate(made.id, 60)).key);
    const kept = (await Promise.all(secrets.map(recordOf))).map((record) => record !== null);
    expect(kept).toEqual(secrets.map((_, i) => i >= 2));
  });

  test('leaves room for other orgs in the bucket, also when an org has all that it may have', async () => {
    const boundsWith = (character: string) => ({
      models: Array.from({ length: MODELS_LENGTH_MAX }, () => character.repeat(256)),
      metadata: Object.fromEntries(
        Array.from({ length: TAGS_MAX }, (_, i) => [character + i, character.repeat(128)]),
      ),
    });
    const body = { name: '\u0001'.repeat(100), permissions: [...TENANT_PERMISSIONS], ...boundsWith('a') };
    const made = await request(bus, 'keys.create', { ...caller, body });
    await request(bus, 'keys.update', { ...caller, id: made.id, body: boundsWith('b') });
    const current = await sizeOf(made.key);
    await rotate(made.id, 60);
    const all = KEYS_PER_ORG_MAX * (current + FORMER_SECRETS_MAX * (await sizeOf(made.key)));
    expect(all).toBeLessThan(BUCKETS.keys.maxBytes / 8);
  });

  test('has a list of models of at most 8 KiB', async () => {
    const models = Array.from({ length: MODELS_LENGTH_MAX + 1 }, () => 'a'.repeat(256));
    const body = { name: 'a', permissions: ['models:write' as const], models };
    await expect(request(bus, 'keys.create', { ...caller, body })).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'body.models',
    });
  });

  test('is changed under its new secret, and revoked under all its secrets', async () => {
    const made = await make();
    const rotated = await rotate(made.id, 10);
    await request(bus, 'keys.update', { ...caller, id: made.id, body: { limit: null } });
    expect(await recordOf(rotated.key)).toMatchObject({ limit: null });
    expect(await request(bus, 'keys.get', { ...caller, id: made.id })).toMatchObject({ limit: null });
    await request(bus, 'keys.delete', { ...caller, id: made.id });
    expect(await Promise.all([made, rotated].map(({ key }) => recordOf(key)))).toEqual([null, null]);
  });

  test('keeps a working secret when the store confirms too late that the former one is retired', async () => {
    const made = await make();
    const update = keys.update.bind(keys);
    vi.spyOn(prototype, 'update').mockImplementationOnce(async (...entry) => {
      await update(...entry);
      throw new ServiceError('service_unavailable', 'no confirmation');
    });
    await expect(rotate(made.id, 10)).rejects.toMatchObject({ code: 'service_unavailable' });
    const successor = (await recordOf(made.key))?.successor ?? '';
    expect((await keys.get(successor))?.value).toMatchObject({ id: made.id });
    const again = await rotate(made.id, 10);
    expect(await recordOf(again.key)).toMatchObject({ id: made.id });
  });

  test('gives its new secret although a former one cannot be retired', async () => {
    const made = await make();
    const second = await rotate(made.id, 10);
    const { update } = prototype;
    vi.spyOn(prototype, 'update').mockImplementation(function (this: typeof keys, key, ...rest) {
      if (key === hashKey(made.key)) throw new ServiceError('service_unavailable', 'away');
      return update.call(this, key, ...rest);
    });
    const third = await rotate(made.id, 10);
    expect(await recordOf(third.key)).toMatchObject({ id: made.id, rotation: 2 });
    expect(await recordOf(second.key)).toMatchObject({ successor: hashKey(third.key) });
  });

  test('twice concurrently has one valid new secret', async () => {
    const made = await make();
    const outcomes = await Promise.allSettled([rotate(made.id, 10), rotate(made.id, 10)]);
    const won = outcomes.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
    expect(won.length).toBeGreaterThan(0);
    const inUse = (await keys.entries()).filter(({ value }) => value.id === made.id && !value.successor);
    expect(inUse.map(({ key }) => key)).toEqual([hashKey(won.at(-1)?.key ?? '')]);
  });

  test('twice, the second time between the two steps of the first, keeps its former secret for its period', async () => {
    const made = await make();
    const { create } = prototype;
    const secondCreates = Promise.withResolvers<void>();
    const rotations: Promise<RotatedKey>[] = [];
    vi.spyOn(prototype, 'create')
      .mockImplementationOnce(async function (this: typeof keys, ...entry) {
        const revision = await create.apply(this, entry);
        rotations.push(rotate(made.id, 60));
        await secondCreates.promise;
        return revision;
      })
      .mockImplementationOnce(async function (this: typeof keys, ...entry) {
        secondCreates.resolve();
        await rotations[0];
        return create.apply(this, entry);
      });
    rotations.push(rotate(made.id, 10));
    const first = await rotations[0];
    const second = await rotations[1];
    expect(await recordOf(made.key)).toMatchObject({
      successor: hashKey(second?.key ?? ''),
      retires_at: first?.former_until,
    });
  });

  test('while it is revoked is gone under all its secrets', async () => {
    const made = await make();
    let rotated: RotatedKey | undefined;
    vi.spyOn(keys, 'delete').mockImplementationOnce(async (hash, ...rest) => {
      rotated = await rotate(made.id, 10);
      return keys.delete(hash, ...rest);
    });
    const known = { entries: () => [], caughtUp: async () => false } as never;
    const revoke = deleteKey({ keys, known, clock, events: { publish: async () => {} } as never });
    await revoke({ ...caller, id: made.id }, { requestId: 'req_test' });
    expect(rotated?.id).toBe(made.id);
    expect((await keys.entries()).filter(({ value }) => value.id === made.id)).toEqual([]);
  });

  test('while it is changed leaves no change without its event, also when both are refused', async () => {
    const made = await make();
    const { update } = prototype;
    const changed = Promise.withResolvers<void>();
    const requests: Promise<unknown>[] = [];
    vi.spyOn(prototype, 'update')
      .mockImplementationOnce(async function (this: typeof keys, ...retired) {
        const body = { permissions: ['usage:read' as const] };
        requests.push(request(bus, 'keys.update', { ...caller, id: made.id, body }));
        await changed.promise;
        return update.apply(this, retired);
      })
      .mockImplementationOnce(async function (this: typeof keys, ...entry) {
        const revision = await update.apply(this, entry);
        changed.resolve();
        await requests[0]?.catch(() => {});
        return revision;
      });
    requests.push(rotate(made.id, 10));
    await expect(requests[0]).rejects.toMatchObject({ code: 'service_unavailable' });
    await expect(requests[1]).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await recordOf(made.key)).toMatchObject({ permissions: ['usage:read'] });
    await untilUpdated(made.id);
  });

  test('is refused when it belongs to another org, is unknown, or is the key of SWITCHYARD_KEY', async () => {
    const { id } = await make();
    const body = { grace_minutes: 0 };
    await expect(
      request(bus, 'keys.rotate', { ...caller, org: 'org_other', id, body }),
    ).rejects.toMatchObject({ code: 'key_not_found' });
    await expect(rotate('key_unknown', 0)).rejects.toMatchObject({ code: 'key_not_found' });
    await expect(rotate(firstKeyId(FIRST), 0)).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'id',
    });
  });
});

/** Creates a key with the new secret of a rotation that died before its second step. */
async function cutShort() {
  const made = await make();
  const lost = newSecret();
  const record = await recordOf(made.key);
  if (!record) throw new Error('the key was made');
  await keys.create(hashKey(lost), { ...record, rotation: 1 });
  return { id: made.id, secrets: [made.key, lost] };
}

describe('a rotation that died between its two steps', () => {
  test('leaves the former secret valid, and the next rotation retires both', async () => {
    const { id, secrets } = await cutShort();
    const rotated = await rotate(id, 0);
    expect(await Promise.all(secrets.map(recordOf))).toEqual([null, null]);
    expect(await recordOf(rotated.key)).toMatchObject({ id, rotation: 2 });
  });

  test('leaves no secret that a change misses', async () => {
    const { id, secrets } = await cutShort();
    const changed = await request(bus, 'keys.update', {
      ...caller,
      id,
      body: { permissions: ['usage:read'] },
    });
    expect(changed.permissions).toEqual(['usage:read']);
    for (const secret of secrets)
      expect(await recordOf(secret)).toMatchObject({ permissions: ['usage:read'], limit: changed.limit });
    await untilUpdated(id);
  });

  test('leaves no secret that a revocation misses because it was created just before', async () => {
    for (let i = 0; i < MOMENTS; i++) {
      const { id, secrets } = await cutShort();
      await request(bus, 'keys.delete', { ...caller, id });
      expect(await Promise.all(secrets.map(recordOf))).toEqual([null, null]);
    }
  });

  test('lists its key once, also page by page', async () => {
    const { id } = await cutShort();
    const later = await make();
    const listed = async (query: ListQuery) =>
      (await request(bus, 'keys.list', { ...caller, query })).data.map((key) => key.id);
    await expect.poll(() => listed({})).toContain(later.id);
    const all = await listed({});
    const place = all.indexOf(id);
    expect(all.lastIndexOf(id)).toBe(place);
    expect(await listed({ limit: 1, after: id })).toEqual(all.slice(place + 1, place + 2));
  });

  test('is found by an instance whose mirror does not have it yet', async () => {
    const { id, secrets } = await cutShort();
    const first = secrets.map(hashKey).slice(0, 1);
    const deaf = {
      entries: (): [string, KeyRecord][] => first.map((hash) => [hash, { ...caller, id } as never]),
      caughtUp: async () => false,
    };
    const { current, former } = await findKey({ keys, known: deaf }, DEFAULT_ORG, id);
    expect([current, ...former].map(({ key }) => key).sort()).toEqual(secrets.map(hashKey).sort());
    expect(current.value.rotation).toBe(1);
  });
});

test('former secrets are removed when they expire', async () => {
  const made = await make();
  const rotated = await rotate(made.id, 5);
  await expect
    .poll(async () => {
      clock.advance(MINUTE_MS); // the mirror may learn of the rotation after the response
      return recordOf(made.key);
    })
    .toBeNull();
  expect(clock.now()).toBeGreaterThanOrEqual(Date.parse(rotated.former_until));
  expect(await recordOf(rotated.key)).toMatchObject({ id: made.id });
});
