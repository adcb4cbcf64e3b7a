// A computer's usage, read from its cgroup files (version 1 or 2) through its init, so that it works wherever the
// agent runs. Docker's stats would take seconds.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ComputerMetrics, ServiceError } from '@switchyard/contracts';
import type { InitClient } from './init-client.ts';
import { type DiskUse, WorkspaceMeter } from './workspace-meter.ts';

export type Measured = Omit<ComputerMetrics, 'object'>;

/** Interval over which the cores in use are measured. */
const SAMPLE_MS = 100;
/** cgroup v1 reports "no limit" as a number near 2^63. */
const NO_LIMIT_MIN = 2 ** 60;

const CGROUP = '/sys/fs/cgroup';
const CPU_V1 = `${CGROUP}/cpuacct/cpuacct.usage`;
const CPU_V2 = `${CGROUP}/cpu.stat`;
const NETWORK = '/proc/net/dev';
const PATHS = [
  CPU_V1,
  CPU_V2,
  `${CGROUP}/cpu/cpu.cfs_quota_us`,
  `${CGROUP}/cpu/cpu.cfs_period_us`,
  `${CGROUP}/cpu.max`,
  `${CGROUP}/memory/memory.usage_in_bytes`,
  `${CGROUP}/memory/memory.limit_in_bytes`,
  `${CGROUP}/memory/memory.stat`,
  `${CGROUP}/memory.current`,
  `${CGROUP}/memory.max`,
  `${CGROUP}/memory.stat`,
  `${CGROUP}/pids/pids.current`,
  `${CGROUP}/pids/pids.max`,
  `${CGROUP}/pids.current`,
  `${CGROUP}/pids.max`,
  NETWORK,
] as const;

/** Text of a file; undefined if it does not exist. */
type Files = (path: string) => string | undefined;

export class Meter {
  readonly #init: Pick<InitClient, 'readFiles'>;
  readonly #disk = new WorkspaceMeter();

  constructor(init: Pick<InitClient, 'readFiles'>) {
    this.#init = init;
  }

  /**
   * @param workspace its folder on this host
   * @throws ServiceError `computer_failed`
   */
  async measure(workspace: string, now: Date): Promise<Measured> {
    const counting = this.#disk.measure(workspace, now);
    counting.catch(() => {}); // awaited below; it may reject before that
    const before = await readCpuSeconds(this.#init);
    const begun = performance.now();
    const [disk] = await Promise.all([counting, sleep(SAMPLE_MS)]);
    const files = await readPaths(this.#init, PATHS);
    const elapsedS = (performance.now() - begun) / 1_000;
    return toMeasured(files, { usedS: cpuSeconds(files) - before, elapsedS }, disk, now);
  }
}

/** CPU seconds that a computer has used since its container started. @throws ServiceError `computer_failed` */
export async function readCpuSeconds(init: Pick<InitClient, 'readFiles'>): Promise<number> {
  return cpuSeconds(await readPaths(init, [CPU_V1, CPU_V2]));
}

async function readPaths(init: Pick<InitClient, 'readFiles'>, paths: readonly string[]): Promise<Files> {
  const texts = await init.readFiles(paths);
  const byPath = new Map(paths.map((path, at) => [path, texts[at] ?? undefined]));
  return (path) => byPath.get(path);
}

/** @throws ServiceError `computer_failed` when the files match neither cgroup version */
export function toMeasured(
  files: Files,
  sample: { readonly usedS: number; readonly elapsedS: number },
  disk: DiskUse,
  now: Date,
): Measured {
  return {
    measured_at: now.toISOString(),
    cpu: {
      seconds: rounded(cpuSeconds(files)),
      cores_used: rounded(sample.usedS / sample.elapsedS),
      cores_max: coresMax(files),
    },
    memory: memoryOf(files),
    disk,
    network: networkOf(files(NETWORK) ?? ''),
    processes: {
      count: number(files(`${CGROUP}/pids/pids.current`) ?? files(`${CGROUP}/pids.current`)) ?? 0,
      count_max: limit(files(`${CGROUP}/pids/pids.max`) ?? files(`${CGROUP}/pids.max`)),
    },
  };
}

function cpuSeconds(files: Files): number {
  const nanoseconds = number(files(CPU_V1));
  if (nanoseconds !== null) return nanoseconds / 1e9;
  const microseconds = field(files(CPU_V2), 'usage_usec');
  if (microseconds !== null) return microseconds / 1e6;
  throw new ServiceError('computer_failed', 'the kernel does not report the computer’s usage');
}

function coresMax(files: Files): number | null {
  const [quotaV2, periodV2] = files(`${CGROUP}/cpu.max`)?.trim().split(' ') ?? [];
  const quota = number(files(`${CGROUP}/cpu/cpu.cfs_quota_us`) ?? quotaV2);
  const period = number(files(`${CGROUP}/cpu/cpu.cfs_period_us`) ?? periodV2);
  return quota === null || quota < 0 || !period ? null : quota / period;
}

function memoryOf(files: Files): Measured['memory'] {
  const v1 = number(files(`${CGROUP}/memory/memory.usage_in_bytes`));
  if (v1 !== null) {
    const dropped = field(files(`${CGROUP}/memory/memory.stat`), 'total_inactive_file') ?? 0;
    const max = limit(files(`${CGROUP}/memory/memory.limit_in_bytes`));
    return { bytes: Math.max(0, v1 - dropped), bytes_max: max };
  }
  const v2 = number(files(`${CGROUP}/memory.current`)) ?? 0;
  const dropped = field(files(`${CGROUP}/memory.stat`), 'inactive_file') ?? 0;
  return { bytes: Math.max(0, v2 - dropped), bytes_max: limit(files(`${CGROUP}/memory.max`)) };
}

/** All interfaces except loopback. */
function networkOf(text: string): Measured['network'] {
  let received = 0;
  let sent = 0;
  for (const line of text.split('\n')) {
    const [name = '', counters] = line.split(':');
    if (counters === undefined || name.trim() === 'lo') continue;
    const numbers = counters.trim().split(/\s+/).map(Number);
    received += numbers[0] ?? 0;
    sent += numbers[8] ?? 0;
  }
  return { received_bytes: received, sent_bytes: sent };
}

/** Value of a line `name value`. */
function field(text: string | undefined, name: string): number | null {
  const line = text?.split('\n').find((one) => one.startsWith(`${name} `));
  return number(line?.slice(name.length));
}

function number(text: string | undefined): number | null {
  const value = Number(text?.trim() || Number.NaN);
  return Number.isFinite(value) ? value : null;
}

function limit(text: string | undefined): number | null {
  const value = number(text);
  return value === null || value > NO_LIMIT_MIN ? null : value;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
