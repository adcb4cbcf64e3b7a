import { type KeySecret, ServiceError } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { OpenRelays } from './open-relays.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let clock: FakeClock;
let open: OpenRelays;
let ended: string[];
let recheck: () => unknown;

beforeEach(() => {
  clock = new FakeClock();
  recheck = () => null;
  open = new OpenRelays(clock, () => recheck());
  ended = [];
});

const at = (ms: number) => new Date(clock.now() + ms).toISOString();
const CURRENT: KeySecret = { hash: 'current', until: null };
const keyWith = (secrets: KeySecret[], expires_at: string | null = null) => ({
  ...{ id: 'key_a', org: 'org_a', expires_at, secrets },
});
const key = (expires_at: string | null = null) => keyWith([CURRENT], expires_at);
const work = (name: string) => ({
  revoke: ({ code }: { code: string }) => void ended.push(`${name} ${code}`),
});

describe('requests and streams that are open under a key', () => {
  test('end once when the key is revoked, without those that ended earlier', () => {
    const close = open.add(key(), work('early'));
    open.add(key(), work('one'));
    open.add(key(), work('two'));
    close();
    open.changed(key(), null);
    open.changed(key(), null);
    expect(ended).toEqual(['one invalid_api_key', 'two invalid_api_key']);
  });

  test('end when the key expires, also in the far future', () => {
    open.add(key(at(40 * DAY_MS)), work('one'));
    clock.advance(40 * DAY_MS - 1);
    expect(ended).toEqual([]);
    clock.advance(1);
    expect(ended).toEqual(['one expired_api_key']);
    expect(clock.waiting).toBe(0);
  });

  test('follow a change of the expiry: later, earlier, or never', () => {
    open.add(key(at(HOUR_MS)), work('one'));
    open.changed(key(), key(at(3 * HOUR_MS)));
    clock.advance(2 * HOUR_MS);
    open.changed(key(), key());
    clock.advance(5 * HOUR_MS);
    expect(ended).toEqual([]);
    open.changed(key(), key(at(1)));
    clock.advance(1);
    expect(ended).toEqual(['one expired_api_key']);
  });

  test('end with the secret that they used; those under the current secret stay open', () => {
    const former = { hash: 'former', until: at(HOUR_MS) };
    const rotated = keyWith([CURRENT, former]);
    open.add(keyWith([{ ...former, until: null }]), work('former'));
    open.changed(keyWith([former]), rotated);
    open.add(key(), work('current'));
    clock.advance(HOUR_MS);
    expect(ended).toEqual(['former invalid_api_key']);
    open.changed(rotated, null);
    expect(ended).toEqual(['former invalid_api_key', 'current invalid_api_key']);
  });

  test('end when their secret leaves the record, and follow the expiry of the key until then', () => {
    const former = { hash: 'former', until: at(DAY_MS) };
    const rotated = keyWith([CURRENT, former]);
    open.add(keyWith([former]), work('former'));
    open.changed(rotated, keyWith([CURRENT, former], at(HOUR_MS)));
    clock.advance(HOUR_MS);
    expect(ended).toEqual(['former expired_api_key']);
    open.add(keyWith([former]), work('second'));
    open.changed(rotated, key());
    expect(ended.at(-1)).toBe('second invalid_api_key');
  });

  test('leave no timer running when they have ended', () => {
    const close = open.add(key(at(HOUR_MS)), work('one'));
    expect(clock.waiting).toBe(1);
    close();
    close();
    expect(clock.waiting).toBe(0);
  });

  test('end at once when their secret ended after it was authenticated', async () => {
    const refusal = new ServiceError('org_suspended', 'suspended');
    recheck = () => {
      throw refusal;
    };
    open.add(key(), work('late'))();
    recheck = () => Promise.reject(refusal);
    open.add(key(), work('slow'));
    recheck = () => Promise.reject(new ServiceError('service_unavailable', 'unavailable'));
    open.add(key(), work('unchecked'));
    await expect.poll(() => ended).toEqual(['late org_suspended', 'slow org_suspended']);
    open.changed(key(), null);
    expect(ended.at(-1)).toBe('unchecked invalid_api_key');
    expect(ended).toHaveLength(3);
  });
});
