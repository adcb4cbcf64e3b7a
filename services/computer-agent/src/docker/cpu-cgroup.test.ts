// The files of cgroups as both versions have them; the real ones of containers: ../computer/precedence.test.ts.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCpuCgroup, viewCgroups } from './cpu-cgroup.ts';

const ID = 'c0ffee'.padEnd(64, '0');
const PID = 4711;

let root: string;
const proc = () => join(root, 'proc');

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'switchyard-cgroup-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

const V1 = () => ({
  [`proc/${PID}/cgroup`]: `4:memory:/docker/${ID}\n2:cpuacct,cpu:/docker/${ID}\n1:name=systemd:/docker/${ID}\n0::/\n`,
  'proc/self/mounts': `cgroup ${root}/cgroup/memory cgroup rw,memory 0 0\ncgroup ${root}/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup2 ${root}/cgroup/unified cgroup2 rw 0 0\n`,
  [`cgroup/cpu/docker/${ID}/cpuacct.usage`]: '2500000000\n',
  [`cgroup/cpu/docker/${ID}/cpu.shares`]: '1024\n',
  [`cgroup/cpu/docker/${ID}/cpu.cfs_period_us`]: '100000\n',
  [`cgroup/cpu/docker/${ID}/cpu.cfs_quota_us`]: '400000\n',
  'cgroup/cpu/docker/cpu.shares': '1024\n',
});
const SCOPE = `system.slice/docker-${ID}.scope`;
const V2 = () => ({
  [`proc/${PID}/cgroup`]: `0::/${SCOPE}\n`,
  'proc/self/mounts': `cgroup2 ${root}/cgroup cgroup2 rw,nosuid 0 0\n`,
  [`cgroup/${SCOPE}/cpu.stat`]: 'usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n',
  [`cgroup/${SCOPE}/cpu.weight`]: '39\n',
  [`cgroup/${SCOPE}/cpu.max`]: '400000 100000\n',
  'cgroup/system.slice/cpu.weight': '100\n',
});
const V2_WITHOUT_SYSTEMD = () => ({
  [`proc/${PID}/cgroup`]: `0::/docker/${ID}\n`,
  'proc/self/mounts': `cgroup2 ${root}/cgroup cgroup2 rw,nosuid 0 0\n`,
  [`cgroup/docker/${ID}/cpu.stat`]: 'usage_usec 2500000\n',
  'cgroup/docker/cpu.weight': '100\n',
});

const cgroupFile = (...path: string[]) => readFile(join(root, 'cgroup', ...path), 'utf8');

test('a limit is cores within a short period, never less than the kernel takes, and none where it takes none', async () => {
  await write(V1());
  const v1 = await openCpuCgroup(PID, ID, await viewCgroups(proc()));
  for (const [cores, quota] of [
    [1.5, '30000'],
    [0.01, '1000'],
  ] as const) {
    v1?.setLimit(cores);
    expect(await cgroupFile('cpu/docker', ID, 'cpu.cfs_period_us')).toBe('20000');
    expect(await cgroupFile('cpu/docker', ID, 'cpu.cfs_quota_us')).toBe(quota);
  }
  v1?.close();
  await write(V2());
  const v2 = await openCpuCgroup(PID, ID, await viewCgroups(proc()));
  v2?.setLimit(1.5);
  expect(await cgroupFile(SCOPE, 'cpu.max')).toBe('30000 20000');
  v2?.close();
  await rm(join(root, 'cgroup', SCOPE, 'cpu.max'));
  const without = await openCpuCgroup(PID, ID, await viewCgroups(proc()));
  expect(() => without?.setLimit(1.5)).not.toThrow();
  without?.close();
});

test('the weight of the engine’s own group is raised and never lowered; a group of others is left as it is', async () => {
  for (const [files, weight, weights] of [
    [V1(), ['cpu/docker', 'cpu.shares'], ['4096', '4096']],
    [V2_WITHOUT_SYSTEMD(), ['docker', 'cpu.weight'], ['400', '400']],
    [V2(), ['system.slice', 'cpu.weight'], ['100\n', '100\n']],
  ] as const) {
    await write(files);
    const cgroup = await openCpuCgroup(PID, ID, await viewCgroups(proc()));
    for (const [at, shares] of [4_096, 2_048].entries()) {
      cgroup?.raiseEngine(shares);
      expect(await cgroupFile(...weight)).toBe(weights[at]);
    }
    cgroup?.close();
  }
});

describe.each([
  ['1', V1, `cgroup/cpu/docker/${ID}/cpu.shares`, ['1024', '16', '2']],
  // runc's own conversion: 1024 shares are a weight of 39.
  ['2', V2, `cgroup/${SCOPE}/cpu.weight`, ['39', '1', '1']],
])('cgroups of version %s', (_, files, weight, weights) => {
  test('tell what was used, and take a weight', async () => {
    await write(files());
    const cgroup = await openCpuCgroup(PID, ID, await viewCgroups(proc()));
    expect(cgroup?.usedMs()).toBe(2_500);
    for (const [at, shares] of [1024, 16, 1].entries()) {
      cgroup?.setShares(shares);
      expect((await readFile(join(root, weight), 'utf8')).trim()).toBe(weights[at]);
      expect([cgroup?.hasShares(shares), cgroup?.hasShares(4 * 1024)]).toEqual([true, false]);
    }
    cgroup?.close();
  });

  test('are not taken for a container’s when the process is another’s, or has ended', async () => {
    await write(files());
    expect(await openCpuCgroup(PID, 'another'.padEnd(64, '0'), await viewCgroups(proc()))).toBeUndefined();
    expect(await openCpuCgroup(PID + 1, ID, await viewCgroups(proc()))).toBeUndefined();
  });

  test('that are not mounted here are done without', async () => {
    await write(files());
    await rm(join(root, 'cgroup'), { recursive: true });
    expect(await openCpuCgroup(PID, ID, await viewCgroups(proc()))).toBeUndefined();
    await write({ 'proc/self/mounts': 'proc /proc proc rw 0 0\n' });
    expect(await openCpuCgroup(PID, ID, await viewCgroups(proc()))).toBeUndefined();
  });
});
