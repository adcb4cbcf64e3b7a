// The cap on computers per org, with two instances that each cache their last write. Uses a real nats-server.
import { type Bucket, type Bus, connectBus, openBucket } from '@switchyard/bus';
import type { ComputerRecord, ComputerSlots } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SLOT_EMPTY_MS_MAX, Slots } from './slots.ts';

const MAX = 10;

let nats: TestServer;
let bus: Bus;
let slots: Bucket<ComputerSlots>;
let computers: Bucket<ComputerRecord>;
let clock: FakeClock;
let org: string;
let orgs = 0;
let one: Slots;
let other: Slots;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  slots = await openBucket(bus, 'computer-slots');
  computers = await openBucket(bus, 'computers');
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});
beforeEach(() => {
  orgs += 1;
  org = `org_${orgs}`;
  clock = new FakeClock();
  one = new Slots({ slots, computers, clock });
  other = new Slots({ slots, computers, clock });
});

const ids = async () => Object.keys((await slots.get(org))?.value ?? {}).sort();
const LIMIT_REACHED = { code: 'computer_limit_reached' };

/** Counts reads and writes of the store. */
function counting() {
  const asked = { get: 0, write: 0 };
  const counted = new Proxy(slots, {
    get(target, name) {
      if (name === 'get') asked.get += 1;
      if (name === 'update' || name === 'create') asked.write += 1;
      const found: unknown = Reflect.get(target, name, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  return { asked, slots: counted };
}

describe('places under the cap', () => {
  test('a single instance reads the slots once, then writes each change without reading', async () => {
    const { asked, slots: counted } = counting();
    const alone = new Slots({ slots: counted, computers, clock });
    await alone.take(org, 'cmp_a', MAX);
    expect(asked).toEqual({ get: 1, write: 1 });
    await alone.take(org, 'cmp_b', MAX);
    await alone.free(org, ['cmp_a']);
    expect(asked).toEqual({ get: 1, write: 3 });
    expect(await ids()).toEqual(['cmp_b']);
  });

  test('slots that the other instance took or freed are neither lost nor restored', async () => {
    await one.take(org, 'cmp_a', MAX);
    await other.take(org, 'cmp_b', MAX);
    await one.take(org, 'cmp_c', MAX);
    await other.free(org, ['cmp_a', 'cmp_b']);
    await one.take(org, 'cmp_d', MAX);
    expect(await ids()).toEqual(['cmp_c', 'cmp_d']);
  });

  test('a slot that the other instance freed can be taken, although the cache says full', async () => {
    await one.take(org, 'cmp_a', 1);
    await other.free(org, ['cmp_a']);
    await one.take(org, 'cmp_b', 1);
    expect(await ids()).toEqual(['cmp_b']);
  });

  test('a slot that the other instance took is not given twice, although the cache says free', async () => {
    await one.take(org, 'cmp_a', 2);
    await other.take(org, 'cmp_b', 2);
    await expect(one.take(org, 'cmp_c', 2)).rejects.toMatchObject(LIMIT_REACHED);
    expect(await ids()).toEqual(['cmp_a', 'cmp_b']);
  });

  test('a slot that the other instance took can be freed, although the cache does not have it', async () => {
    await one.take(org, 'cmp_a', MAX);
    await other.take(org, 'cmp_b', MAX);
    await one.free(org, ['cmp_b']);
    expect(await ids()).toEqual(['cmp_a']);
  });

  test('fifty concurrent creates over two instances get exactly as many slots as there are', async () => {
    const wanted = Array.from({ length: 50 }, (_, n) => `cmp_${n}`);
    const results = await Promise.allSettled(wanted.map((id, n) => (n % 2 ? one : other).take(org, id, MAX)));
    const got = wanted.filter((_, n) => results[n]?.status === 'fulfilled');
    expect(got).toHaveLength(MAX);
    expect(await ids()).toEqual(got.sort());
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject(LIMIT_REACHED);
  });

  test('a write whose outcome is unknown is read again', async () => {
    const deaf = new Slots({ slots: deafTo(slots, 2), computers, clock });
    await deaf.take(org, 'cmp_a', MAX);
    await expect(deaf.take(org, 'cmp_b', MAX)).rejects.toThrow('no answer');
    await deaf.take(org, 'cmp_c', MAX);
    expect(await ids()).toEqual(['cmp_a', 'cmp_b', 'cmp_c']);
  });

  test('a slot without a computer is found after a minute, even with a cache that says all are taken', async () => {
    await one.take(org, 'cmp_a', 1);
    await expect(one.take(org, 'cmp_b', 1)).rejects.toMatchObject(LIMIT_REACHED);
    clock.advance(SLOT_EMPTY_MS_MAX + 1);
    await one.take(org, 'cmp_b', 1);
    expect(await ids()).toEqual(['cmp_b']);
  });
});

/** Performs the n-th write and loses its response. */
function deafTo(bucket: Bucket<ComputerSlots>, nth: number): Bucket<ComputerSlots> {
  let writes = 0;
  return new Proxy(bucket, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      if (name !== 'update' && name !== 'create') return found.bind(target);
      return async (...given: unknown[]) => {
        const revision: unknown = await found.apply(target, given);
        writes += 1;
        if (writes === nth) throw new Error('no answer');
        return revision;
      };
    },
  });
}
