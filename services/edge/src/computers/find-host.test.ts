// Finds the host of a computer by its record, on a real nats-server with heartbeats from the test.
import { type Bucket, type Bus, connectBus, openBucket } from '@switchyard/bus';
import {
  type ComputerPlacement,
  type ComputerRecord,
  computerPlacement,
  type HostHeartbeat,
  newComputerRecord,
  newId,
  placementKey,
  recordKey,
  STANDARD_IMAGE,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FindHost, hostFinder } from './find-host.ts';

const ORG = 'org_caller';
const HOST = 'host_a';

let nats: TestServer;
let bus: Bus;
let placements: Bucket<ComputerPlacement>;
let computers: Bucket<ComputerRecord>;
let clock: FakeClock;
let find: FindHost;
/** Keys that were read from the store. */
let asked: string[];
/** Monotonic time at which each host's last heartbeat came into memory. */
let heard: Map<string, number>;

/** The last heartbeats in the bucket. */
let stored: Map<string, HostHeartbeat>;
const BEAT = { at: '2026-11-26T12:00:00.000Z' } as HostHeartbeat;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  placements = await openBucket(bus, 'computer-placements');
  computers = await openBucket(bus, 'computers');
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});
beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  heard = new Map([[HOST, clock.monotonic()]]);
  stored = new Map([[HOST, BEAT]]);
  const ageMs = (host: string) => clock.monotonic() - (heard.get(host) ?? Number.NEGATIVE_INFINITY);
  find = hostFinder({
    placements: {
      get: (key) => {
        asked.push(key);
        return placements.get(key);
      },
    },
    computers,
    hosts: {
      get: async (key) => {
        const value = stored.get(key);
        return value ? { key, value, revision: 1 } : null;
      },
    },
    beats: { ageMs, peek: (host) => (heard.has(host) ? BEAT : null) },
    enabled: true,
  });
});

/** Creates a record; returns its key and the id of its computer. */
async function made(change: Partial<ComputerRecord> = {}): Promise<{ key: string; id: string }> {
  const id = newId('computer');
  const key = placementKey(ORG, id);
  const record = newComputerRecord({
    id,
    org: ORG,
    key_id: 'key_caller',
    host: HOST,
    name: 'test',
    image: STANDARD_IMAGE,
    cpu: 1,
    memory_mb: 1024,
    disk_gb: 1,
    rates: { per_minute: '1', per_vcpu_minute: '0', per_gb_memory_minute: '0', per_gb_disk_minute: '0' },
    created_at: new Date(clock.now()).toISOString(),
  });
  await placements.create(key, computerPlacement.parse(record));
  await computers.create(recordKey(record), { ...record, state: 'running', ...change });
  return { key, id };
}

/** As control does when another host takes a computer that HOST has refused. */
async function moveTo(key: string, host: string): Promise<void> {
  const placement = (await placements.get(key))!.value;
  const record = (await computers.get(recordKey(placement)))!.value;
  await computers.delete(recordKey(placement));
  await placements.put(key, { ...placement, host });
  await computers.create(recordKey({ ...placement, host }), { ...record, host, state: 'running' });
}

const NOT_FOUND = { code: 'computer_not_found' };

describe('the host of a computer', () => {
  test('is read from the store once', async () => {
    const { id, key } = await made();
    for (let time = 0; time < 3; time++) expect(await find(ORG, id)).toBe(HOST);
    expect(asked).toEqual([key]);
  });

  test('is visible to its own org only, also when it is cached', async () => {
    const { id } = await made();
    await find(ORG, id);
    await expect(find('org_other', id)).rejects.toMatchObject(NOT_FOUND);
  });

  test('is not cached while the computer is created: another host may still get it', async () => {
    const { id, key } = await made({ state: 'creating' });
    expect(await find(ORG, id)).toBe(HOST);
    heard.set('host_b', clock.monotonic());
    await moveTo(key, 'host_b');
    expect(await find(ORG, id)).toBe('host_b');
  });

  test('that is silent: the computer is unreachable, and unknown once it was given up', async () => {
    const { id } = await made();
    await find(ORG, id);
    clock.advance(3_600_000);
    await expect(find(ORG, id)).rejects.toMatchObject({ code: 'service_unavailable' });
    await computers.delete(recordKey({ host: HOST, org: ORG, id }));
    await expect(find(ORG, id)).rejects.toMatchObject(NOT_FOUND);
  });

  test('is found by a heartbeat in the bucket that is not in memory yet', async () => {
    const { id } = await made();
    clock.advance(3_600_000);
    await expect(find(ORG, id)).rejects.toMatchObject({ code: 'service_unavailable' });
    stored.set(HOST, { ...BEAT, at: '2026-11-26T13:00:00.000Z' });
    expect(await find(ORG, id)).toBe(HOST);
  });

  test('that sends heartbeats again is found again', async () => {
    const { id } = await made();
    await find(ORG, id);
    clock.advance(3_600_000);
    await expect(find(ORG, id)).rejects.toMatchObject({ code: 'service_unavailable' });
    heard.set(HOST, clock.monotonic());
    expect(await find(ORG, id)).toBe(HOST);
  });

  test('is where control placed it: a record that another host makes for it is not read', async () => {
    const { id, key } = await made();
    const record = (await computers.get(recordKey({ host: HOST, org: ORG, id })))!.value;
    await computers.create(recordKey({ ...record, host: 'host_thief' }), { ...record, host: 'host_thief' });
    expect(await find(ORG, id)).toBe(HOST);
    await placements.delete(key);
    expect(await find('org_other', id).catch(({ code }) => code)).toBe('computer_not_found');
  });

  test('is not looked up for an invalid id', async () => {
    for (const id of ['*', '>', 'cmp_a.b', '']) await expect(find(ORG, id)).rejects.toMatchObject(NOT_FOUND);
    expect(asked).toEqual([]);
  });
});
