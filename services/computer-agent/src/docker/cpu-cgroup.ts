// The processor time of a container, its weight against others and its limit, from the files of its cgroup (version 1 or
// 2): a read takes microseconds, where the engine takes 10 ms.
import { closeSync, existsSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export interface CpuCgroup {
  /** Processor milliseconds used so far. @throws when the container has ended */
  usedMs(): number;
  /** In Docker's measure: 1024 is what any other group has. @throws when the container has ended */
  setShares(shares: number): void;
  /** Whether that is its weight. @throws when the container has ended */
  hasShares(shares: number): boolean;
  /** Cores that it uses at most; a kernel that cannot do that is left alone. @throws when the container has ended */
  setLimit(cores: number): void;
  /**
   * Raises the weight of the engine's own group, which all containers are in, if it is lower. Nothing happens where the
   * containers are in a group of somebody else. @throws where it may not be set
   */
  raiseEngine(shares: number): void;
  close(): void;
}

export const CPU_SHARES_MIN = 2;
const CPU_SHARES_MAX = 262_144;
const CPU_WEIGHT_MAX = 10_000;
/** So short that one who has used up its part does not keep a caller waiting for long. */
const LIMIT_PERIOD_US = 20_000;
/** The kernel takes no less. */
const LIMIT_QUOTA_US_MIN = 1_000;
const FILE_BYTES_MAX = 4_096;
/** As dockerd calls it, unless it is told otherwise. */
const ENGINE_GROUP = 'docker';

/** Which files, and how they are read and written. */
interface CpuFiles {
  readonly usage: string;
  readonly weight: string;
  /** What is to be written where, in order, for a limit. */
  readonly limit: (quotaUs: number) => readonly (readonly [path: string, text: string])[];
  /** Of the group that all containers are in, where that is the engine's own. */
  readonly engineWeight: string | undefined;
  readonly toMs: (usage: string) => number;
  readonly toWeight: (shares: number) => number;
  readonly toEngineWeight: (shares: number) => number;
}

/** What this process sees of processes and cgroups. */
export interface CgroupView {
  readonly proc: string;
  /** Of cgroups, a line each. */
  readonly mounts: string;
}

/** Once: the table has hundreds of other mounts, and these stay. */
export async function viewCgroups(proc = '/proc'): Promise<CgroupView> {
  const mounts = await readFile(join(proc, 'self', 'mounts'), 'utf8');
  return {
    proc,
    mounts: mounts
      .split('\n')
      .filter((line) => line.includes(' cgroup'))
      .join('\n'),
  };
}

/**
 * @param pid of the container's first process, as this host numbers processes
 * @returns undefined where this process does not see the container's processes or cgroups (an agent in a container
 * without the host's, an engine elsewhere): the pid may be another's then
 */
export async function openCpuCgroup(
  pid: number,
  containerId: string,
  { proc, mounts }: CgroupView,
): Promise<CpuCgroup | undefined> {
  const groups = await cgroupsOf(pid, containerId, proc);
  const files = groups === undefined ? undefined : filesOf(groups, mounts);
  if (files === undefined) return undefined;
  try {
    return open(files);
  } catch {
    return undefined; // its mounts are others than ours
  }
}

/**
 * The groups of a container's process, one a line. Undefined where the process is not the container's: this process sees
 * others than the engine's host, or it has ended and its number is another's.
 */
export async function cgroupsOf(
  pid: number,
  containerId: string,
  proc = '/proc',
): Promise<string | undefined> {
  const groups = await readFile(join(proc, String(pid), 'cgroup'), 'utf8').catch(() => '');
  return groups.includes(containerId) ? groups : undefined;
}

/** Sync, as these files are the kernel's memory: no disk is waited for. */
function open({ usage, weight, limit, engineWeight, toMs, toWeight, toEngineWeight }: CpuFiles): CpuCgroup {
  const file = openSync(usage, 'r');
  const canLimit = limit(LIMIT_QUOTA_US_MIN).every(([path]) => existsSync(path));
  const bytes = Buffer.alloc(FILE_BYTES_MAX);
  return {
    usedMs: () => toMs(bytes.toString('latin1', 0, readSync(file, bytes, 0, FILE_BYTES_MAX, 0))),
    setShares: (shares) => writeFileSync(weight, String(toWeight(shares))),
    hasShares: (shares) => Number(readFileSync(weight, 'utf8')) === toWeight(shares),
    setLimit(cores) {
      const quotaUs = Math.max(LIMIT_QUOTA_US_MIN, Math.round(cores * LIMIT_PERIOD_US));
      if (canLimit) for (const [path, text] of limit(quotaUs)) writeFileSync(path, text);
    },
    raiseEngine(shares) {
      if (engineWeight === undefined) return;
      const needed = toEngineWeight(shares);
      if (Number(readFileSync(engineWeight, 'utf8')) < needed) writeFileSync(engineWeight, String(needed));
    },
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
      limit: (quotaUs) => [
        [join(weights, cpu, 'cpu.cfs_period_us'), String(LIMIT_PERIOD_US)],
        [join(weights, cpu, 'cpu.cfs_quota_us'), String(quotaUs)],
      ],
      engineWeight: engineFile(join(weights, cpu), 'cpu.shares'),
      toMs: (text) => Number(text) / 1e6,
      toWeight: sharesWithin,
      toEngineWeight: sharesWithin,
    };
  }
  const unified = paths.find((path) => path?.[1] === '0')?.[3];
  const root = mountOf(mounts, 'cgroup2');
  if (unified === undefined || root === undefined) return undefined;
  return {
    usage: join(root, unified, 'cpu.stat'),
    weight: join(root, unified, 'cpu.weight'),
    limit: (quotaUs) => [[join(root, unified, 'cpu.max'), `${quotaUs} ${LIMIT_PERIOD_US}`]],
    engineWeight: engineFile(join(root, unified), 'cpu.weight'),
    toMs: (text) => Number(/^usage_usec (\d+)$/m.exec(text)?.[1]) / 1_000,
    toWeight: weightOf,
    // Against processes of the host a weight of 100 is what 1,024 shares are.
    toEngineWeight: (shares) => clamp((shares * 100) / 1_024, 1, CPU_WEIGHT_MAX),
  };
}

/** Where systemd is asked for groups, containers are in a slice that is not the engine's alone. */
function engineFile(group: string, name: string): string | undefined {
  const parent = dirname(group);
  return basename(parent) === ENGINE_GROUP ? join(parent, name) : undefined;
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

function sharesWithin(shares: number): number {
  return clamp(shares, CPU_SHARES_MIN, CPU_SHARES_MAX);
}

/** As runc has it, so that a weight means the same whoever wrote it. */
function weightOf(shares: number): number {
  const above = (sharesWithin(shares) - CPU_SHARES_MIN) * (CPU_WEIGHT_MAX - 1);
  return 1 + Math.floor(above / (CPU_SHARES_MAX - CPU_SHARES_MIN));
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(value)));
}
