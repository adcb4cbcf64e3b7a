import { ServiceError } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { OpenRelays } from './open-relays.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let clock: FakeClock;
let open: OpenRelays;
let ended: string[];
let recheck: (secret: object) => unknown;

beforeEach(() => {
  clock = new FakeClock();
  recheck = () => null;
  open = new OpenRelays(clock, (one) => recheck(one));
  ended = [];
});

const at = (ms: number) => new Date(clock.now() + ms).toISOString();
const secret = (
  more: { rotation?: number; expires_at?: string | null; retires_at?: string | null } = {},
) => ({
  id: 'key_a',
  org: 'org_a',
  expires_at: null,
  ...more,
});
const work = (name: string) => ({
  revoke: ({ code }: { code: string }) => void ended.push(`${name} ${code}`),
});

describe('requests and streams that are open under a key', () => {
  test('end once when the key is revoked, without those that ended earlier', () => {
    const close = open.add(secret(), work('early'));
    open.add(secret(), work('one'));
    open.add(secret(), work('two'));
    close();
    open.revoke(secret());
    open.revoke(secret());
    expect(ended).toEqual(['one invalid_api_key', 'two invalid_api_key']);
  });

  test('end when the key expires, also in the far future', () => {
    open.add(secret({ expires_at: at(40 * DAY_MS) }), work('one'));
    clock.advance(40 * DAY_MS - 1);
    expect(ended).toEqual([]);
    clock.advance(1);
    expect(ended).toEqual(['one expired_api_key']);
    expect(clock.waiting).toBe(0);
  });

  test('follow a change of the expiry: later, earlier, or never', () => {
    open.add(secret({ expires_at: at(HOUR_MS) }), work('one'));
    open.changed(secret({ expires_at: at(3 * HOUR_MS) }));
    clock.advance(2 * HOUR_MS);
    open.changed(secret());
    clock.advance(5 * HOUR_MS);
    expect(ended).toEqual([]);
    open.changed(secret({ expires_at: at(1) }));
    clock.advance(1);
    expect(ended).toEqual(['one expired_api_key']);
  });

  test('end with the secret that they used; those of its successor stay open', () => {
    open.add(secret(), work('former'));
    open.add(secret({ rotation: 1 }), work('current'));
    open.changed(secret({ retires_at: at(HOUR_MS) }));
    clock.advance(HOUR_MS);
    expect(ended).toEqual(['former invalid_api_key']);
    open.revoke(secret({ rotation: 1 }));
    expect(ended).toEqual(['former invalid_api_key', 'current invalid_api_key']);
  });

  test('follow the expiry of the current secret also under a replaced one, until that is retired', () => {
    open.add(secret(), work('former'));
    open.changed({ ...secret({ retires_at: at(DAY_MS) }), successor: 'hash' });
    open.changed(secret({ rotation: 1, expires_at: at(HOUR_MS) }));
    open.changed({ ...secret({ retires_at: at(DAY_MS - 1) }), successor: 'hash' }); // its own expiry is out of date
    clock.advance(HOUR_MS);
    expect(ended).toEqual(['former expired_api_key']);
    open.add(secret({ retires_at: at(DAY_MS) }), work('second'));
    open.changed(secret({ rotation: 1, expires_at: at(2 * DAY_MS) }));
    clock.advance(DAY_MS);
    expect(ended.at(-1)).toBe('second invalid_api_key');
  });

  test('leave no timer running when they have ended', () => {
    const close = open.add(secret({ expires_at: at(HOUR_MS) }), work('one'));
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
    open.add(secret(), work('late'))();
    recheck = () => Promise.reject(refusal);
    open.add(secret(), work('slow'));
    recheck = () => Promise.reject(new ServiceError('service_unavailable', 'away'));
    open.add(secret(), work('unchecked'));
    await expect.poll(() => ended).toEqual(['late org_suspended', 'slow org_suspended']);
    open.revoke(secret());
    expect(ended.at(-1)).toBe('unchecked invalid_api_key');
    expect(ended).toHaveLength(3);
  });
});
