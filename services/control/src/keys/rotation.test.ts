// Rotation of keys on a real nats-server, with a clock that the test controls.
import { BUCKETS, type Bucket, type Bus, openBucket, request } from '@switchyard/bus';
import {
  type CreatedKey,
  DEFAULT_ORG,
  FORMER_SECRETS_MAX,
  KEYS_PER_ORG_MAX,
  type KeyRecord,
  keyRecordKey,
  type RotatedKey,
  ServiceError,
  TAGS_MAX,
  TENANT_PERMISSIONS,
  type UpdateKeyRequest,
} from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTestControl, type TestControl } from '../__fixtures__/test-control.ts';
import { firstKeyId } from './first-key.ts';
import { hashKey } from './secret.ts';

const FIRST = 'sy_the_first_key_of_all';
const caller = { org: DEFAULT_ORG, key_id: firstKeyId(FIRST) };
const MINUTE_MS = 60_000;
/** Models with the longest name that a key may have: 8 KiB of JSON. */
const MODELS_LENGTH_MAX = 31;

let control: TestControl;
let bus: Bus;
let keys: Bucket<KeyRecord>;
/** Shared by buckets of the test and control. */
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
const change = (id: string, body: UpdateKeyRequest) => request(bus, 'keys.update', { ...caller, id, body });
const revoke = (id: string) => request(bus, 'keys.delete', { ...caller, id });
const recordOf = async (id: string) => (await keys.get(keyRecordKey(DEFAULT_ORG, id)))?.value ?? null;
const storedOf = (id: string) =>
  bus.jsm.streams.getMessage('KV_keys', { last_by_subj: `$KV.keys.${keyRecordKey(DEFAULT_ORG, id)}` });
const current = ({ key }: CreatedKey) => ({ hash: hashKey(key), until: null });
const former = ({ key }: CreatedKey, until: string) => ({ hash: hashKey(key), until });
const eventsOf = (id: string) =>
  control.events.all.filter(({ data }) => 'key_id' in data && data.key_id === id).map(({ type }) => type);
/** Runs `work` between the reading and the writing of the next change of a key. */
function duringChange(work: () => Promise<unknown>): void {
  const { update } = prototype;
  vi.spyOn(prototype, 'update').mockImplementationOnce(async function (this: typeof keys, ...entry) {
    await work();
    return update.apply(this, entry);
  });
}

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
    expect(await recordOf(made.id)).toMatchObject({
      ...{ id: made.id, limit: made.limit, prefix: rotated.prefix },
      secrets: [current(rotated), former(made, rotated.former_until)],
    });
    const listed = async () => (await request(bus, 'keys.list', { ...caller, query: {} })).data;
    const prefixes = async () => (await listed()).filter(({ id }) => id === made.id).map((key) => key.prefix);
    await expect.poll(prefixes).toEqual([rotated.prefix]);
  });

  test('is stored and shown without its secrets; no answer has their hashes', async () => {
    const made = await make();
    const rotated = await rotate(made.id, 10);
    const stored = await storedOf(made.id);
    const text = `${stored?.string()} ${stored?.header}`;
    for (const { key } of [made, rotated]) expect(text).not.toContain(key);
    const shown = JSON.stringify([
      rotated,
      await change(made.id, { name: 'b' }),
      await request(bus, 'keys.get', { ...caller, id: made.id }),
    ]);
    for (const { key } of [made, rotated]) expect(shown).not.toContain(hashKey(key));
  });

  test('without a grace period is refused under all its former secrets at once', async () => {
    const made = await make();
    await rotate(made.id, 10);
    const third = await rotate(made.id, 0);
    expect((await recordOf(made.id))?.secrets).toEqual([current(third)]);
  });

  test('again within its grace period keeps earlier secrets for their periods', async () => {
    const made = await make();
    const second = await rotate(made.id, 10);
    const third = await rotate(made.id, 60);
    expect((await recordOf(made.id))?.secrets).toEqual([
      current(third),
      former(second, third.former_until),
      former(made, second.former_until),
    ]);
    const fourth = await rotate(made.id, 5);
    expect((await recordOf(made.id))?.secrets).toEqual([
      current(fourth),
      ...[third, second, made].map((one) => former(one, fourth.former_until)),
    ]);
  });

  test('after its grace period keeps no secret that has expired', async () => {
    const made = await make();
    const second = await rotate(made.id, 10);
    clock.advance(10 * MINUTE_MS);
    const third = await rotate(made.id, 10);
    expect((await recordOf(made.id))?.secrets).toEqual([current(third), former(second, third.former_until)]);
  });

  test(`repeatedly within its grace period keeps its latest ${FORMER_SECRETS_MAX} former secrets`, async () => {
    const made = await make();
    const secrets: CreatedKey[] = [made];
    for (let i = 0; i < FORMER_SECRETS_MAX + 2; i++) secrets.unshift(await rotate(made.id, 60));
    const kept = (await recordOf(made.id))?.secrets.map(({ hash }) => hash);
    expect(kept).toEqual(secrets.slice(0, 1 + FORMER_SECRETS_MAX).map(({ key }) => hashKey(key)));
  });

  test('leaves room for other orgs in the bucket, even if an org uses all its limits', async () => {
    const boundsWith = (character: string) => ({
      models: Array.from({ length: MODELS_LENGTH_MAX }, () => character.repeat(256)),
      metadata: Object.fromEntries(
        Array.from({ length: TAGS_MAX }, (_, i) => [character + i, character.repeat(128)]),
      ),
    });
    const body = { name: '\u0001'.repeat(100), permissions: [...TENANT_PERMISSIONS], ...boundsWith('a') };
    const made = await request(bus, 'keys.create', { ...caller, body });
    for (let i = 0; i < FORMER_SECRETS_MAX; i++) await rotate(made.id, 60);
    await change(made.id, boundsWith('b'));
    const stored = await storedOf(made.id);
    const size = (stored?.data.length ?? 0) + Buffer.byteLength(String(stored?.header));
    expect(KEYS_PER_ORG_MAX * size).toBeLessThan(BUCKETS.keys.maxBytes / 8);
  });

  test('has a list of models of at most 8 KiB', async () => {
    const models = Array.from({ length: MODELS_LENGTH_MAX + 1 }, () => 'a'.repeat(256));
    const body = { name: 'a', permissions: ['models:write' as const], models };
    await expect(request(bus, 'keys.create', { ...caller, body })).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'body.models',
    });
  });

  test('is changed and revoked under all its secrets', async () => {
    const made = await make();
    const rotated = await rotate(made.id, 10);
    await change(made.id, { limit: null });
    expect(await request(bus, 'keys.get', { ...caller, id: made.id })).toMatchObject({ limit: null });
    expect(await recordOf(made.id)).toMatchObject({
      limit: null,
      secrets: [current(rotated), former(made, rotated.former_until)],
    });
    await revoke(made.id);
    expect(await recordOf(made.id)).toBeNull();
  });

  test('keeps a working secret when the store confirms the rotation too late', async () => {
    const made = await make();
    const { update } = prototype;
    vi.spyOn(prototype, 'update').mockImplementationOnce(async function (this: typeof keys, ...entry) {
      await update.apply(this, entry);
      throw new ServiceError('service_unavailable', 'no confirmation');
    });
    await expect(rotate(made.id, 10)).rejects.toMatchObject({ code: 'service_unavailable' });
    const until = new Date(clock.now() + 10 * MINUTE_MS).toISOString();
    expect((await recordOf(made.id))?.secrets).toContainEqual(former(made, until));
    const again = await rotate(made.id, 10);
    expect((await recordOf(made.id))?.secrets[0]).toEqual(current(again));
  });

  test('is refused when it belongs to another org, is unknown, or is the key of SWITCHYARD_KEY', async () => {
    const { id } = await make();
    const body = { grace_minutes: 0 };
    await expect(
      request(bus, 'keys.rotate', { ...caller, org: 'org_other', id, body }),
    ).rejects.toMatchObject({ code: 'key_not_found' });
    for (const unknown of ['key_unknown', '*', '>', ''])
      for (const ask of [
        () => rotate(unknown, 0),
        () => change(unknown, { name: 'b' }),
        () => revoke(unknown),
      ])
        await expect(ask()).rejects.toMatchObject({ code: 'key_not_found' });
    await expect(rotate(firstKeyId(FIRST), 0)).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'id',
    });
  });
});

describe('at the same moment', () => {
  test('many rotations give one current secret, and each of the others its grace period', async () => {
    const made = await make();
    const rotated = await Promise.all(Array.from({ length: FORMER_SECRETS_MAX }, () => rotate(made.id, 10)));
    const secrets = (await recordOf(made.id))?.secrets ?? [];
    expect(secrets.map(({ hash }) => hash).sort()).toEqual(
      [made, ...rotated].map(({ key }) => hashKey(key)).sort(),
    );
    const [latest, ...others] = secrets;
    expect(latest?.until).toBeNull();
    for (const { until } of others) expect(until).toBe(rotated[0]?.former_until);
    const rotations = () => eventsOf(made.id).filter((type) => type === 'key.rotated');
    await expect.poll(rotations).toHaveLength(rotated.length);
  });

  test('two rotations with other grace periods keep each secret for the one that replaced it', async () => {
    const made = await make();
    const between: RotatedKey[] = [];
    duringChange(async () => between.push(await rotate(made.id, 60)));
    const later = await rotate(made.id, 90);
    const [earlier] = between as [RotatedKey];
    expect((await recordOf(made.id))?.secrets).toEqual([
      current(later),
      former(earlier, later.former_until),
      former(made, earlier.former_until),
    ]);
  });

  const rotation = ({ id }: CreatedKey) => rotate(id, 10);
  const narrowing = ({ id }: CreatedKey) => change(id, { permissions: ['usage:read'] });
  test.each([
    ['a rotation and a change', rotation, narrowing],
    ['a change and a rotation', narrowing, rotation],
  ])('%s both happen, each with its event', async (_, first, second) => {
    const made = await make();
    duringChange(() => second(made));
    await first(made);
    const record = await recordOf(made.id);
    expect(record).toMatchObject({ permissions: ['usage:read'], secrets: [{ until: null }, {}] });
    await expect.poll(() => eventsOf(made.id).sort()).toEqual(['key.created', 'key.rotated', 'key.updated']);
  });

  test('a rotation of a key revoked meanwhile fails, and does not restore it', async () => {
    const made = await make();
    duringChange(() => revoke(made.id));
    await expect(rotate(made.id, 10)).rejects.toMatchObject({ code: 'key_not_found' });
    expect(await recordOf(made.id)).toBeNull();
    await expect.poll(() => eventsOf(made.id)).toEqual(['key.created', 'key.revoked']);
  });

  test('a revocation ends the secret of a rotation that came in between, too', async () => {
    const made = await make();
    const { delete: remove } = prototype;
    vi.spyOn(prototype, 'delete').mockImplementationOnce(async function (this: typeof keys, ...entry) {
      await rotate(made.id, 10);
      return remove.apply(this, entry);
    });
    await revoke(made.id);
    expect(await recordOf(made.id)).toBeNull();
    await expect.poll(() => eventsOf(made.id)).toEqual(['key.created', 'key.rotated', 'key.revoked']);
  });
});
