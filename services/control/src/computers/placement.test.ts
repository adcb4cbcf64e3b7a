// Placement of new computers on hosts.
import type { HostHeartbeat } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { describe, expect, test } from 'vitest';
import { HEARTBEAT_WAIT_MS_MAX, HOST_FRESH_MS_MAX, Hosts } from './hosts.ts';
import { placementOrder } from './placement.ts';

const host = (id: string, change: Partial<HostHeartbeat> = {}): HostHeartbeat => ({
  id: `host_${id}`,
  at: new Date(0).toISOString(),
  cpu_total: 4,
  cpu_used: 0,
  memory_mb_total: 8_192,
  memory_mb_used: 0,
  computers: 0,
  disk_mb_free: 10_000,
  disk_mb_free_min: 2_048,
  image_ready: true,
  image_progress: null,
  refuses: null,
  cordoned: false,
  ...change,
});
const wanted = { cpu: 1, memory_mb: 1_024 };
const first = () => 0;

describe('the order in which hosts are asked', () => {
  test('of two random hosts, the one with less load on its scarcest resource comes first', () => {
    const busy = host('busy', { cpu_used: 1, memory_mb_used: 6_000 });
    const calm = host('calm', { cpu_used: 2, memory_mb_used: 0 });
    expect(placementOrder([busy, calm], wanted, first)).toEqual([calm, busy]);
    expect(placementOrder([calm, busy], wanted, () => 0.99)).toEqual([calm, busy]);
  });

  test('every host with room is in the order once, for any random numbers', () => {
    const hosts = Array.from({ length: 7 }, (_, n) => host(`h${n}`, { cpu_used: n % 3 }));
    for (const random of [() => 0, () => 0.5, () => 0.999, Math.random]) {
      const order = placementOrder(hosts, wanted, random);
      expect(order.map(({ id }) => id).sort()).toEqual(hosts.map(({ id }) => id).sort());
    }
  });

  test('a host without room for the cpu or the memory is left out; a host with just enough is kept', () => {
    const full = host('full', { cpu_used: 3.25 });
    const tight = host('tight', { memory_mb_used: 8_192 - 1_023 });
    const exact = host('exact', { cpu_used: 3, memory_mb_used: 7_168 });
    expect(placementOrder([full, tight, exact], wanted, first)).toEqual([exact]);
  });

  test('a host with a nearly full disk is left out; one with just enough or an unknown amount is kept', () => {
    const full = host('full', { disk_mb_free: 2_047 });
    const exact = host('exact', { disk_mb_free: 2_048 });
    const older = host('older', { disk_mb_free: null, disk_mb_free_min: null });
    const order = placementOrder([full, exact, older], wanted, first);
    expect(order.map(({ id }) => id).sort()).toEqual(['host_exact', 'host_older']);
    expect(() => placementOrder([full], wanted, first)).toThrow(
      expect.objectContaining({
        code: 'no_capacity',
        message: expect.stringContaining('SWITCHYARD_HOST_DISK_GB_FREE_MIN'),
      }),
    );
  });

  test('the error says why no host fits: none connected, image not ready, firewall missing, all full', () => {
    const none = (hosts: HostHeartbeat[]) => () => placementOrder(hosts, wanted, first);
    const code = 'no_capacity';
    expect(none([])).toThrow(
      expect.objectContaining({ code, message: 'No computer host is connected. Retry later.' }),
    );
    const building = host('b', { image_ready: false, image_progress: 'step 7 of 19' });
    expect(none([building])).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining('step 7 of 19') }),
    );
    expect(none([host('r', { refuses: 'its firewall is missing' })])).toThrow(
      expect.objectContaining({ code, message: 'its firewall is missing' }),
    );
    expect(none([host('f', { cpu_used: 4 })])).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining('full') }),
    );
  });
});

describe('hosts by their heartbeats', () => {
  const clock = new FakeClock();
  const listeners = new Set<() => void>();
  const beats = [host('a'), host('b', { cordoned: true })];
  let heardAt = 0;
  const hosts = new Hosts(
    {
      entries: () => beats.map((value) => ({ key: value.id, value, revision: 1 })),
      ageMs: (id) =>
        beats.some((beat) => beat.id === id) ? clock.monotonic() - heardAt : Number.POSITIVE_INFINITY,
      onChange: (listener) => {
        const heard = () => listener('host_a', beats[0] ?? null, null);
        listeners.add(heard);
        return () => listeners.delete(heard);
      },
    },
    clock,
  );
  const placeable = async () => {
    const found = await hosts.placeable(new AbortController().signal);
    return found.map(({ id }) => id);
  };

  test('a host gets computers while its heartbeat is fresh and it is not cordoned', async () => {
    clock.advance(HOST_FRESH_MS_MAX);
    expect(await placeable()).toEqual(['host_a']);
    expect(clock.waiting).toBe(0);
  });

  test('while no host is fresh, a creation waits for one whose heartbeat is late, for a limited time', async () => {
    clock.advance(1);
    const served = placeable();
    heardAt = clock.monotonic();
    for (const heard of listeners) heard();
    expect(await served).toEqual(['host_a']);

    clock.advance(HOST_FRESH_MS_MAX + 1);
    const refused = placeable();
    clock.advance(HEARTBEAT_WAIT_MS_MAX);
    expect(await refused).toEqual([]);
    expect([clock.waiting, listeners.size]).toEqual([0, 0]);
  });

  test('a heartbeat that names another host than its key is ignored', async () => {
    const heartbeats = { ageMs: () => 0, onChange: () => () => {} };
    const thief = { key: 'host_thief', value: host('a'), revision: 1 };
    const forged = new Hosts({ ...heartbeats, entries: () => [thief] }, clock);
    expect(await forged.placeable(new AbortController().signal)).toEqual([]);
  });

  test('a host is silent after a minute without heartbeat, and when it never sent one', async () => {
    heardAt = clock.monotonic() - 60_000;
    expect(hosts.isSilent('host_a')).toBe(false);
    clock.advance(1);
    expect(hosts.isSilent('host_a')).toBe(true);
    expect(hosts.isSilent('host_never')).toBe(true);
    expect(await placeable()).toEqual([]); // at once
  });
});
