// Who answers goes before who computes, on real containers: weights and limits as the kernel has them, the init before its
// bombs.
import { cpus } from 'node:os';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RESERVE_CORES_MAX, RESERVE_SHARE } from './burst-limits.ts';
import type { RunningComputer } from './computer-host.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const POLL = { timeout: 60_000, interval: 200 };
/** Looking costs processor time, which is no rest. */
const POLL_AT_REST = { timeout: 60_000, interval: 1_500 };
/** Both of them, and what is started before. */
const TIMEOUT_MS = 180_000;

const BURST_CORES = 4;

let testHost: TestHost;
beforeAll(async () => {
  testHost = await openTestHost({ warmPool: 1, burst: { cpu: BURST_CORES, memoryMb: 2_048 } });
  await testHost.host.poolFilled();
}, SETUP_TIMEOUT_MS);
afterAll(() => testHost?.close(), SETUP_TIMEOUT_MS);

const text = async (computer: RunningComputer, command: string) =>
  (await run(computer, command)).output.toString().trim();
/** As version 1 has it; in version 2 it is another number, less of it for a heavy one all the same. */
const weightOf = async (computer: RunningComputer) =>
  Number(await text(computer, 'cd /sys/fs/cgroup; cat cpu/cpu.shares cpu.weight 2>/dev/null'));
const COMPUTE = 'setsid sh -c "while :; do :; done" >/dev/null 2>&1 & echo $!';

describe('a computer that computes for long', { timeout: TIMEOUT_MS }, () => {
  test('weighs less than others until it has rested, whatever its size', async () => {
    const small = { cpu: 0.25, memoryMb: 512 };
    const { computer } = await testHost.createComputer();
    const { computer: smaller } = await testHost.createComputer(small);
    const { computer: neighbour } = await testHost.createComputer();
    const before = await weightOf(computer);
    expect([await weightOf(smaller), await weightOf(neighbour)]).toEqual([before, before]);
    const pids = [await text(computer, COMPUTE), await text(smaller, COMPUTE)] as const;
    await vi.waitFor(async () => {
      expect(await weightOf(computer)).toBeLessThanOrEqual(before / 10);
      expect(await weightOf(smaller)).toBeLessThanOrEqual((await weightOf(computer)) / 3.5);
    }, POLL);
    expect(await weightOf(neighbour)).toBe(before);
    await run(computer, `kill -9 ${pids[0]}`);
    await run(smaller, `kill -9 ${pids[1]}`);
    await vi.waitFor(async () => {
      expect([await weightOf(computer), await weightOf(smaller)]).toEqual([before, before]);
    }, POLL_AT_REST);
  });

  test('weighs as little with the next agent, until it has rested', async () => {
    const { computer } = await testHost.createComputer();
    const weight = await weightOf(computer);
    const pid = await text(computer, COMPUTE);
    await vi.waitFor(async () => expect(await weightOf(computer)).toBeLessThan(weight), POLL);
    const heavyWeight = await weightOf(computer);
    computer.release();
    await testHost.host.close(); // in one process with the next, it would fill its pool while that one clears up
    const next = await (await testHost.reopen()).connect(computer.containerId);
    expect(await weightOf(next)).toBe(heavyWeight);
    await run(next, `kill -9 ${pid}`);
    await vi.waitFor(async () => expect(await weightOf(next)).toBe(weight), POLL_AT_REST);
  });
});

/** On a host with more cores than that, nobody needs to be kept from its ceiling. */
const HOST_CORES = cpus().length;
const MOST_BESIDE_OTHERS = HOST_CORES - Math.min(HOST_CORES * RESERVE_SHARE, RESERVE_CORES_MAX);
const NEIGHBOUR_AT_WORK = 'setsid sh -c "while :; do sleep 0.1; done" >/dev/null 2>&1 & echo $!';
/** Cores. */
const limitOf = async (computer: RunningComputer) => {
  const limit = 'cd /sys/fs/cgroup; cat cpu.max || cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us';
  const [quota, period] = (await text(computer, `(${limit}) 2>/dev/null`)).split(/\s/).map(Number);
  return quota! / period!;
};

describe('a computer that computes beside others at work', { timeout: TIMEOUT_MS }, () => {
  test.skipIf(MOST_BESIDE_OTHERS >= BURST_CORES)(
    'leaves them room, and has all again when they rest',
    async () => {
      const { computer } = await testHost.createComputer({ cpu: 0.25, memoryMb: 512 });
      const { computer: neighbour } = await testHost.createComputer();
      expect(await limitOf(computer)).toBe(BURST_CORES);
      await text(computer, COMPUTE);
      const pid = await text(neighbour, NEIGHBOUR_AT_WORK);
      await vi.waitFor(async () => {
        expect(await limitOf(computer)).toBeLessThanOrEqual(MOST_BESIDE_OTHERS);
      }, POLL);
      expect(await limitOf(neighbour)).toBe(BURST_CORES);
      await run(neighbour, `kill -9 ${pid}`);
      await vi.waitFor(async () => expect(await limitOf(computer)).toBe(BURST_CORES), POLL);
    },
  );
});

/** What a busy machine may take to end a bomb. */
const END_MS_MAX = 15_000;

describe('the init', { timeout: TIMEOUT_MS }, () => {
  test('goes before what it runs', async () => {
    const { computer } = await testHost.createComputer();
    expect(await text(computer, 'ps -o ni= -p 1; nice')).toMatch(/^-20\s+0$/);
  });

  test('ends a fork bomb soon after its timeout, in the smallest computer, which works on', async () => {
    const { computer } = await testHost.createComputer({ cpu: 0.25, memoryMb: 512 });
    const bomb = await run(computer, 'bomb() { bomb | bomb & }; bomb; sleep 60', { timeoutMs: 2_000 });
    expect(bomb.timedOut).toBe(true);
    expect(bomb.durationMs).toBeLessThan(2_000 + END_MS_MAX);
    // Its shell and `ps` itself, beside the init and their supervisor.
    expect(await text(computer, 'ps -A -o args= | grep -c bomb')).toMatch(/^[012]$/);
  });
});

/** What sched_getattr(2) says of a process itself: its slice in nanoseconds, where the kernel has that (Linux 6.12). */
const SLICE = `python3 -c '
import ctypes, platform, struct
attributes = ctypes.create_string_buffer(48)
number = {"x86_64": 315, "aarch64": 275}[platform.machine()]
assert ctypes.CDLL(None).syscall(number, 0, attributes, 48, 0) == 0
print(struct.unpack_from("<Q", attributes, 24)[0])
'`;

test('takes short turns, as what it runs for a caller does; what that forks takes those of anybody', async () => {
  const { computer } = await testHost.createComputer();
  const command = Number(await text(computer, `exec ${SLICE}`));
  const forked = Number(await text(computer, `${SLICE}; true`));
  // A kernel without slices says 0 of both.
  if (forked === 0) expect(command).toBe(0);
  else expect([command, forked > command]).toEqual([100_000, true]);
});
