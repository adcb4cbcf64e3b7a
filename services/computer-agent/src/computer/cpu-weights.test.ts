import { makeLogger } from '@switchyard/service';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { sharesOf } from '../docker/container-config.ts';
import type { Container } from './container.ts';
import {
  BUSY_CORES,
  BUSY_SHARE,
  BusyDetector,
  openCpuWeights,
  RESTED_CORES,
  SAMPLES_TO_RECOVER,
  SAMPLES_TO_YIELD,
} from './cpu-weights.ts';
import type { InitClient } from './init-client.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const repeated = (cores: number, samples: number) => Array.from({ length: samples }, () => cores);

describe('a computer is busy', () => {
  const busyAfter = (samples: readonly number[]) => {
    const detector = new BusyDetector();
    for (const cores of samples) detector.sample(cores);
    return detector.busy;
  };
  const yielding = repeated(BUSY_CORES * 2, SAMPLES_TO_YIELD);
  const resting = repeated(RESTED_CORES / 2, SAMPLES_TO_RECOVER);

  test.each([
    ['after enough samples above the threshold', yielding, true],
    ['not after fewer samples', yielding.slice(1), false],
    ['not after samples above the threshold with a pause between them', [1, 0, 1, 0, 1], false],
    ['not at exactly the guaranteed cores', repeated(BUSY_CORES, 10), false],
    ['no longer after enough samples at rest', [...yielding, ...resting], false],
    ['still after fewer samples at rest', [...yielding, ...resting.slice(1)], true],
    ['still when it computes in between', [...yielding, ...resting.slice(1), 1, ...resting.slice(1)], true],
    ['again when it computes again', [...yielding, ...resting, ...yielding], true],
  ])('%s', (_, samples, busy) => {
    expect(busyAfter(samples)).toBe(busy);
  });
});

test('a weight that the engine did not set is set with the next sample', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let seconds = 0;
  const init = {
    closed: new Promise<void>(() => {}),
    isClosed: false,
    readFiles: async () => [String(seconds * 1e9), null],
  } as unknown as InitClient;
  const asked: number[] = [];
  const setShares = async (_: string, shares: number) => {
    asked.push(shares);
    if (asked.length === 1) throw new Error('the engine does not answer');
  };
  const warnings: string[] = [];
  const logger = makeLogger('test', 'warn', { write: (line) => void warnings.push(JSON.parse(line).msg) });
  openCpuWeights({ setShares, logger }).watch({ containerId: 'container', init }, 1);
  for (let sample = 0; sample < 6; sample += 1) {
    seconds += 1; // a whole core
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(asked).toEqual([sharesOf(1) * BUSY_SHARE, sharesOf(1) * BUSY_SHARE]);
  expect(warnings).toEqual(['CPU weight of container container not adjusted']);
});

describe('on real containers', () => {
  /** Two loops, which get more of a busy machine than one. Prints their process group. */
  const COMPUTE = 'setsid sh -c "while :; do :; done & while :; do :; done" >/dev/null 2>&1 & echo $!';
  let testHost: TestHost;
  beforeAll(async () => {
    testHost = await openTestHost();
  }, SETUP_TIMEOUT_MS);
  afterAll(() => testHost?.close(), SETUP_TIMEOUT_MS);

  const text = async (computer: Container, command: string) =>
    (await run(computer, command)).output.toString().trim();
  /** `cpu.shares` of cgroup v1 or `cpu.weight` of v2. */
  const weightOf = async (computer: Container) => {
    const [file = '', weight] = (
      await text(
        computer,
        'cd /sys/fs/cgroup; for f in cpu/cpu.shares cpu.weight; do [ -f $f ] && echo $f $(cat $f); done',
      )
    ).split(' ');
    return { version: file.includes('shares') ? 1 : 2, weight: Number(weight) };
  };

  test('a busy computer weighs less than its neighbours until it rests', async () => {
    const { computer } = await testHost.createComputer();
    const { computer: neighbour } = await testHost.createComputer();
    const { version, weight: full } = await weightOf(computer);
    const group = await text(computer, COMPUTE);
    await expect.poll(async () => (await weightOf(computer)).weight).toBeLessThan(full / 4);
    if (version === 1) expect((await weightOf(computer)).weight).toBe(full * BUSY_SHARE);
    expect((await weightOf(neighbour)).weight).toBe(full);
    await run(computer, `kill -9 -- -${group}`);
    await expect.poll(async () => (await weightOf(computer)).weight, { interval: 1_000 }).toBe(full);
  });

  test('a computer has its full weight with the next agent, and yields again if it stays busy', async () => {
    const { computer } = await testHost.createComputer();
    const { weight: full } = await weightOf(computer);
    await text(computer, COMPUTE);
    await expect.poll(async () => (await weightOf(computer)).weight).toBeLessThan(full);
    computer.release();
    await testHost.host.close();
    // A busy machine may notice the full weight only when the computer yields already.
    const { docker } = testHost.options;
    const update = vi.spyOn(Object.getPrototypeOf(docker.getContainer(computer.containerId)), 'update');
    onTestFinished(() => update.mockRestore());
    const next = await testHost.connect(computer, await testHost.reopen());
    expect(update.mock.calls[0]).toMatchObject([{ CpuShares: sharesOf(1) }]);
    await expect.poll(async () => (await weightOf(next)).weight).toBeLessThan(full);
  });

  test('the init has priority over the commands of its computer', async () => {
    const { computer } = await testHost.createComputer();
    expect(await text(computer, 'ps -o ni= -p 1; nice')).toMatch(/^-20\s+0$/);
  });

  test('a fork bomb in the smallest computer ends after its timeout, and the computer works on', async () => {
    const { computer } = await testHost.createComputer({ cpu: 0.25, memoryMb: 512 });
    const bomb = await run(computer, 'bomb() { bomb | bomb & }; bomb; sleep 60', { timeoutMs: 2_000 });
    expect(bomb.timedOut).toBe(true);
    expect(await text(computer, 'ps -A -o args= | grep -c bomb')).toMatch(/^[012]$/);
  });
});
