// Containers for computers on the Docker engine, with their limits and hardening.

import { dirname, join } from 'node:path';
import { inTime } from '@switchyard/service';
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';

/** Label of every container of this product; its value is the owning agent's id. */
export const LABEL_AGENT = 'switchyard.agent';
/** Names the slot (mount point, socket) of a container. */
const LABEL_SLOT = 'switchyard.slot';

export const INIT_PATH = '/sbin/switchyard-init';
export const CONTROL_PATH = '/run/switchyard';
export const INIT_SOCKET = 'init.sock';
export const WORKSPACE_PATH = '/workspace';
export const COMPUTER_HOSTNAME = 'computer';
/** Docker's own versions lie on the host's disk and could grow without limit. */
const NETWORK_FILES = ['hosts', 'hostname', 'resolv.conf'] as const;

/** Enough for packages, servers and a user's own `sudo`-less root; nothing that reaches beyond the container. */
const CAPABILITIES = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'SETUID',
  'SETGID',
  'KILL',
  'NET_BIND_SERVICE',
];
const CPU_PERIOD_US = 100_000;
const CPU_SHARES_PER_CORE = 1024;
/** The kernel accepts no less. */
const CPU_SHARES_MIN = 2;
const BYTES_PER_MB = 1024 * 1024;
/** A hanging engine must not block a computer's lock, the reconciler, or the agent's start forever. */
const ANSWER_MS_MAX = 60_000;
/**
 * Limits that the kernel counts per user. Root in all computers is the same user, so they are low enough to leave
 * room for the host's root. `core` is 1, not 0, because 1 also disables piping core dumps to a host program
 * (`core_pattern`).
 */
const ULIMITS = [
  { Name: 'core', Soft: 1, Hard: 1 },
  { Name: 'sigpending', Soft: 4_096, Hard: 4_096 },
  { Name: 'msgqueue', Soft: 65_536, Hard: 65_536 },
  { Name: 'memlock', Soft: 8_388_608, Hard: 8_388_608 },
];
/** Docker's defaults, and the root of cgroups, which is a writable in-memory file system with cgroup v1. */
const READONLY_PATHS = [
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
  '/sys/fs/cgroup',
];
/** Only loopback has IPv6. Docker disables it everywhere but maps ::1 to `localhost`, where servers listen. */
const IPV6_SYSCTLS = { 'net.ipv6.conf.lo.disable_ipv6': '0' };
/** Docker sends SIGKILL after this; the init normally ends sooner. */
const STOP_TIMEOUT_S = 4;

/** What is guaranteed when the host is busy. */
export interface SizeMb {
  /** Cores. */
  readonly cpu: number;
  /** MiB. */
  readonly memoryMb: number;
}

/** What a computer asks of its container. Everything between the lifecycle and the engine passes it on unchanged. */
export interface ContainerOptions extends SizeMb {
  readonly image: string;
}

export interface EngineOptions {
  readonly docker: Docker;
  readonly agentId: string;
  /** Docker network of the computers. */
  readonly network: string;
  /** Hard limits of every computer, independent of its size. */
  readonly burst: SizeMb;
  readonly pidsMax: number;
  /** OCI runtime (`runc`, `runsc`), or undefined for the engine's default. */
  readonly runtime: string | undefined;
  /** Whether this host's kernel has IPv6. */
  readonly ipv6: boolean;
  /** How long an answer is waited for; undefined: for a minute. */
  readonly answerMsMax?: number | undefined;
}

export interface ContainerSpec extends ContainerOptions {
  readonly slot: string;
  /** Host path of the compiled init. */
  readonly initBinary: string;
  /** Host directory in which the init makes its socket. */
  readonly controlDirectory: string;
  readonly workspace: {
    readonly directory: string;
    /** Mounts that are made on the host later appear inside. */
    readonly followsMounts: boolean;
  };
  /** Host directory of the files that name hosts; undefined: Docker's own. */
  readonly networkFiles?: string | undefined;
}

/** Folders of the host in which the files are that a container writes. */
export interface WritablePlaces {
  /** Holds the engine's writable layer over the image, with its `diff` and `work`. */
  readonly layer: string;
  /** Of the volumes that the image declares. */
  readonly volumes: readonly string[];
}

export interface EngineContainer {
  readonly containerId: string;
  readonly slot: string;
  readonly running: boolean;
  readonly createdAt: Date;
}

export interface ContainerState {
  readonly slot: string;
  readonly running: boolean;
  /** Of its init, as the engine's host numbers processes; 0 when it does not run. */
  readonly pid: number;
  /** Size as last set in the engine. */
  readonly size: SizeMb;
  readonly oomKilled: boolean;
  readonly exitCode: number;
}

export interface Engine {
  /** Creates, does not start. Returns Docker's id. */
  create(spec: ContainerSpec): Promise<string>;
  /** @throws if the engine's storage driver is not overlay2 */
  writablePlaces(containerId: string): Promise<WritablePlaces>;
  start(containerId: string): Promise<void>;
  /** Gives a container another size in place. */
  resize(containerId: string, size: SizeMb): Promise<void>;
  /** Sets the CPU weight of a running container. */
  setShares(containerId: string, shares: number): Promise<void>;
  /** Sends SIGTERM, then SIGKILL after a grace period. Does nothing if the container is stopped or gone. */
  stop(containerId: string): Promise<void>;
  /** Resolves when it does not run, or is gone. */
  ended(containerId: string): Promise<void>;
  /** Kills and removes the container. Does nothing if it is gone. */
  remove(containerId: string): Promise<void>;
  /** Undefined if there is no such container of this agent. */
  inspect(containerId: string): Promise<ContainerState | undefined>;
  /** All containers of this agent, stopped ones included. */
  list(): Promise<EngineContainer[]>;
}

/** The cores, memory and data folder of an engine. @throws when it does not answer in time */
export function engineInfo(
  docker: Docker,
): Promise<{ NCPU: number; MemTotal: number; DockerRootDir: string }> {
  return answeredBy(docker.info(), ANSWER_MS_MAX);
}

function answeredBy<T>(answer: Promise<T>, msMax: number): Promise<T> {
  const late = () => new Error(`the Docker engine does not answer within ${msMax / 1_000} s`);
  return inTime(answer, msMax, late);
}

export function createEngine(options: EngineOptions): Engine {
  const { docker, agentId, answerMsMax = ANSWER_MS_MAX } = options;
  /** A request that timed out may still be carried out; the reconciler handles the result. */
  const answered = <T>(answer: Promise<T>) => answeredBy(answer, answerMsMax);
  const unlessGone = <T>(answer: Promise<T>) => orGone(answered(answer));
  return {
    async create(spec) {
      const container = await answered(docker.createContainer(containerConfig(spec, options)));
      return container.id;
    },
    async writablePlaces(containerId) {
      const { GraphDriver, Mounts } = await answered(docker.getContainer(containerId).inspect());
      // Dockerode's types describe another driver.
      const { UpperDir: upper } = (GraphDriver?.Data ?? {}) as { readonly UpperDir?: string };
      if (GraphDriver?.Name !== 'overlay2' || upper === undefined)
        throw new Error('the engine keeps what containers write in a way that is not known here');
      const volumes = Mounts.filter(({ Type }) => Type === 'volume').map(({ Source }) => Source);
      return { layer: dirname(upper), volumes };
    },
    start: (containerId) => answered(docker.getContainer(containerId).start()),
    async resize(containerId, size) {
      await answered(docker.getContainer(containerId).update(guaranteed(size, options.burst)));
    },
    async setShares(containerId, shares) {
      await answered(
        docker.getContainer(containerId).update({ CpuShares: Math.max(CPU_SHARES_MIN, Math.round(shares)) }),
      );
    },
    async stop(containerId) {
      await unlessGone(docker.getContainer(containerId).stop({ t: STOP_TIMEOUT_S }));
    },
    async ended(containerId) {
      await unlessGone(docker.getContainer(containerId).wait());
    },
    async remove(containerId) {
      await unlessGone(docker.getContainer(containerId).remove({ force: true, v: true }));
    },
    async inspect(containerId) {
      const found = await unlessGone(docker.getContainer(containerId).inspect());
      if (!found || found.Config.Labels[LABEL_AGENT] !== agentId) return undefined;
      return stateOf(found);
    },
    async list() {
      const filters = { label: [`${LABEL_AGENT}=${agentId}`] };
      const found = await answered(docker.listContainers({ all: true, filters }));
      return found.map(({ Id, Labels, State, Created }) => ({
        containerId: Id,
        slot: Labels[LABEL_SLOT] ?? '',
        running: State === 'running',
        createdAt: new Date(Created * 1000),
      }));
    },
  };
}

function containerConfig(spec: ContainerSpec, options: EngineOptions): Docker.ContainerCreateOptions {
  const { burst } = options;
  const ceilingBytes = burst.memoryMb * BYTES_PER_MB;
  return {
    name: `switchyard-${spec.slot}`,
    Image: spec.image,
    Entrypoint: [INIT_PATH],
    Cmd: [`${CONTROL_PATH}/${INIT_SOCKET}`],
    // A computer is its renter's: root inside, whatever the image's own default user.
    User: '0:0',
    WorkingDir: WORKSPACE_PATH,
    Hostname: COMPUTER_HOSTNAME,
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      [LABEL_AGENT]: options.agentId,
      [LABEL_SLOT]: spec.slot,
    },
    HostConfig: {
      ...guaranteed(spec, burst),
      Memory: ceilingBytes,
      MemorySwap: ceilingBytes,
      // A quota, not NanoCpus: the engine refuses NanoCpus above the cores of the host.
      CpuPeriod: CPU_PERIOD_US,
      CpuQuota: Math.round(burst.cpu * CPU_PERIOD_US),
      PidsLimit: options.pidsMax,
      Ulimits: ULIMITS,
      CapDrop: ['ALL'],
      CapAdd: CAPABILITIES,
      SecurityOpt: ['no-new-privileges'],
      ReadonlyPaths: READONLY_PATHS,
      NetworkMode: options.network,
      ...(options.ipv6 ? { Sysctls: IPV6_SYSCTLS } : {}),
      IpcMode: 'private',
      RestartPolicy: { Name: 'no' },
      // Output goes through the init; what a log driver would write fills the host's disk.
      LogConfig: { Type: 'none', Config: {} },
      ...(options.runtime === undefined ? {} : { Runtime: options.runtime }),
      Mounts: [
        { Type: 'bind', Source: spec.initBinary, Target: INIT_PATH, ReadOnly: true },
        { Type: 'bind', Source: spec.controlDirectory, Target: CONTROL_PATH },
        {
          Type: 'bind',
          Source: spec.workspace.directory,
          Target: WORKSPACE_PATH,
          BindOptions: { Propagation: spec.workspace.followsMounts ? 'rslave' : 'rprivate' },
        },
        ...networkFileMounts(spec.networkFiles),
      ],
    },
  };
}

function networkFileMounts(directory: string | undefined): Docker.MountSettings[] {
  if (directory === undefined) return [];
  return NETWORK_FILES.map((name) => ({
    Type: 'bind',
    Source: join(directory, name),
    Target: `/etc/${name}`,
  }));
}

/** What is guaranteed under contention. The engine refuses a reservation above the limit. */
function guaranteed(size: SizeMb, burst: SizeMb): { CpuShares: number; MemoryReservation: number } {
  return {
    CpuShares: sharesOf(size.cpu),
    MemoryReservation: Math.min(size.memoryMb, burst.memoryMb) * BYTES_PER_MB,
  };
}

/** The weight of a computer of so many cores against others. */
export function sharesOf(cpu: number): number {
  return Math.max(CPU_SHARES_MIN, Math.round(cpu * CPU_SHARES_PER_CORE));
}

function stateOf({ Config, HostConfig, State }: ContainerInspectInfo): ContainerState {
  return {
    slot: Config.Labels[LABEL_SLOT] ?? '',
    running: State.Running,
    pid: State.Pid,
    size: {
      cpu: (HostConfig.CpuShares ?? CPU_SHARES_PER_CORE) / CPU_SHARES_PER_CORE,
      memoryMb: (HostConfig.MemoryReservation ?? 0) / BYTES_PER_MB,
    },
    oomKilled: State.OOMKilled,
    exitCode: State.ExitCode,
  };
}

/** 304: already done; 404: no such container; 409: another process is removing it. */
const GONE_STATUSES = new Set([304, 404, 409]);

async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const status = (error as { statusCode?: number }).statusCode;
    if (status !== undefined && GONE_STATUSES.has(status)) return undefined;
    throw error;
  }
}
