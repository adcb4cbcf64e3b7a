// The processor time of a container and its weight against others, from the files of its cgroup (version 1 or 2): a read
// takes microseconds, where the engine takes 10 ms.
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface CpuCgroup {
  /** Processor milliseconds used so far. @throws when the container has ended */
  usedMs(): number;
  /** In Docker's measure: 1024 is what any other group has. @throws when the container has ended */
  setShares(shares: number): void;
  close(): void;
}

export const CPU_SHARES_MIN = 2;
const CPU_SHARES_MAX = 262_144;
const CPU_WEIGHT_MAX = 10_000;
const FILE_BYTES_MAX = 4_096;

/** Which files, and how they are read and written. */
interface CpuFiles {
  readonly usage: string;
  readonly weight: string;
  readonly toMs: (usage: string) => number;
  readonly toWeight: (shares: number) => number;
}

/**
 * @param pid of the container's first process, as this host numbers them
 * @returns undefined where this process does not see the container's processes or cgroups (an agent in a container
 * without the host's, an engine elsewhere): the pid may be another's then
 */
export async function openCpuCgroup(
  pid: number,
  containerId: string,
  proc = '/proc',
): Promise<CpuCgroup | undefined> {
  const groups = await readFile(join(proc, String(pid), 'cgroup'), 'utf8').catch(() => '');
  if (!groups.includes(containerId)) return undefined;
  const files = filesOf(groups, await readFile(join(proc, 'self', 'mounts'), 'utf8'));
  if (files === undefined) return undefined;
  try {
    return open(files);
  } catch {
    return undefined; // its mounts are others than ours
  }
}

/** Sync, as these files are the kernel's memory: no disk is waited for. */
function open({ usage, weight, toMs, toWeight }: CpuFiles): CpuCgroup {
  const file = openSync(usage, 'r');
  const bytes = Buffer.alloc(FILE_BYTES_MAX);
  return {
    usedMs: () => toMs(bytes.toString('latin1', 0, readSync(file, bytes, 0, FILE_BYTES_MAX, 0))),
    setShares: (shares) => writeFileSync(weight, String(toWeight(shares))),
    close: () => closeSync(file),
  };
}

/** @param groups lines `<number>:<controllers>:<path>`; the number is 0, and there are no controllers, in version 2 */
function filesOf(groups: string, mounts: string): CpuFiles | undefined {
  const paths = groups.split('\n').map((line) => /^(\d+):([^:]*):(.*)$/.exec(line));
  const pathOf = (controller: string) =>
    paths.find((path) => path?.[2]?.split(',').includes(controller))?.[3];
  const [cpu, cpuacct] = [pathOf('cpu'), pathOf('cpuacct')];
  if (cpu !== undefined && cpuacct !== undefined) {
    const [weights, usages] = [mountOf(mounts, 'cgroup', 'cpu'), mountOf(mounts, 'cgroup', 'cpuacct')];
    if (weights === undefined || usages === undefined) return undefined;
    return {
      usage: join(usages, cpuacct, 'cpuacct.usage'),
      weight: join(weights, cpu, 'cpu.shares'),
      toMs: (text) => Number(text) / 1e6,
      toWeight: (shares) => clamp(shares, CPU_SHARES_MIN, CPU_SHARES_MAX),
    };
  }
  const unified = paths.find((path) => path?.[1] === '0')?.[3];
  const root = mountOf(mounts, 'cgroup2');
  if (unified === undefined || root === undefined) return undefined;
  return {
    usage: join(root, unified, 'cpu.stat'),
    weight: join(root, unified, 'cpu.weight'),
    toMs: (text) => Number(/^usage_usec (\d+)$/m.exec(text)?.[1]) / 1_000,
    toWeight: weightOf,
  };
}

/** Of lines `<source> <mount point> <file system> <options> …`. */
function mountOf(mounts: string, fileSystem: string, option?: string): string | undefined {
  return mounts
    .split('\n')
    .map((line) => line.split(' '))
    .find(
      ([, , type, options]) =>
        type === fileSystem && (option === undefined || options?.split(',').includes(option)),
    )?.[1];
}

/** As runc has it, so that a weight means the same whoever wrote it. */
function weightOf(shares: number): number {
  const above = (clamp(shares, CPU_SHARES_MIN, CPU_SHARES_MAX) - CPU_SHARES_MIN) * (CPU_WEIGHT_MAX - 1);
  return 1 + Math.floor(above / (CPU_SHARES_MAX - CPU_SHARES_MIN));
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(value)));
}
