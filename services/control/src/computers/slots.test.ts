// The cap on computers per org, with two instances. Uses a real nats-server.
import { type Bucket, type Bus, connectBus, openBucket } from '@switchyard/bus';
import type { ComputerSlots } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PlacedRecords } from './placed-records.ts';
import { SLOT_EMPTY_MS_MAX, Slots } from './slots.ts';

const MAX = 10;

let nats: TestServer;
let bus: Bus;
let slots: Bucket<ComputerSlots>;
let records: PlacedRecords;
let clock: FakeClock;
let org: string;
let orgs = 0;
let one: Slots;
let other: Slots;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  slots = await openBucket(bus, 'computer-slots');
  records = new PlacedRecords({
    placements: await openBucket(bus, 'computer-placements'),
    computers: await openBucket(bus, 'computers'),
  });
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});
beforeEach(() => {
  orgs += 1;
  org = `org_${orgs}`;
  clock = new FakeClock();
  one = new Slots({ slots, records, clock });
  other = new Slots({ slots, records, clock });
});

const ids = async () => Object.keys((await slots.get(org))?.value ?? {}).sort();
const LIMIT_REACHED = { code: 'computer_limit_reached' };

describe('slots under the cap', () => {
  test('slots that the other instance took or freed are neither lost nor restored', async () => {
    await one.take(org, 'cmp_a', MAX);
    await other.take(org, 'cmp_b', MAX);
    await one.take(org, 'cmp_c', MAX);
    await other.free(org, ['cmp_a', 'cmp_b']);
    await one.take(org, 'cmp_d', MAX);
    expect(await ids()).toEqual(['cmp_c', 'cmp_d']);
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

  test('a slot without a computer is freed after a minute, when all are taken', async () => {
    await one.take(org, 'cmp_a', 1);
    await expect(one.take(org, 'cmp_b', 1)).rejects.toMatchObject(LIMIT_REACHED);
    clock.advance(SLOT_EMPTY_MS_MAX + 1);
    await one.take(org, 'cmp_b', 1);
    expect(await ids()).toEqual(['cmp_b']);
  });

  test('a slot that is taken again while a sweep looks for its computer is kept', async () => {
    await one.take(org, 'cmp_a', MAX);
    clock.advance(SLOT_EMPTY_MS_MAX + 1);
    const find = async () => {
      await one.take(org, 'cmp_a', 1);
      return null; // the record was removed since
    };
    await new Slots({ slots, records: { find }, clock }).freeEmpty(org);
    expect(await ids()).toEqual(['cmp_a']);
  });
});
