// What this agent asks of the Docker engine: containers for computers, with their limits and their hardening.

import { dirname, join } from 'node:path';
import { inTime } from '@switchyard/service';
import type Docker from 'dockerode';
import type { ContainerInspectInfo } from 'dockerode';
import { CPU_SHARES_MIN } from './cpu-cgroup.ts';

/** Every container of this product has it; its value is the agent that owns it. */
export const LABEL_AGENT = 'switchyard.agent';
/** Names the slot (mount point, socket) of a container. */
const LABEL_SLOT = 'switchyard.slot';
/** `pool` or `direct`: how the container began. Labels cannot change, so who owns it now is not in them. */
const LABEL_ORIGIN = 'switchyard.origin';

export const INIT_PATH = '/sbin/switchyard-init';
export const CONTROL_PATH = '/run/switchyard';
export const INIT_SOCKET = 'init.sock';
export const WORKSPACE_PATH = '/workspace';
export const COMPUTER_HOSTNAME = 'computer';
/** Docker would mount its own, which lie on the host's disk and can be written without end. */
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
const BYTES_PER_MB = 1024 * 1024;
/** An engine that hangs must not hold a computer's lock, the reconciler, or the agent's start, for ever. */
const ANSWER_MS_MAX = 60_000;
/**
 * Where the kernel counts by user, and root in a computer is root to it: so low that many computers together do not use up
 * what the host's own root may have. Nothing is dumped: 1, not 0, is what also keeps a program of the host (`core_pattern`
 * with a pipe) from being started with what a renter's program left.
 */
const ULIMITS = [
  { Name: 'core', Soft: 1, Hard: 1 },
  { Name: 'sigpending', Soft: 4_096, Hard: 4_096 },
  { Name: 'msgqueue', Soft: 65_536, Hard: 65_536 },
  { Name: 'memlock', Soft: 8_388_608, Hard: 8_388_608 },
];
/** Docker's own, and the root of cgroups: with cgroup v1 that is a file system in memory which anybody could fill. */
const READONLY_PATHS = [
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
  '/sys/fs/cgroup',
];
/** A name space with a loop. With `NetworkDisabled` the engine does nothing in it. */
const NO_NETWORK = 'none';
/** IPv6 but for the loop is off. Docker takes it off every interface, and names ::1 `localhost` all the same: servers listen there. */
const IPV6_OF_ENGINE = { 'net.ipv6.conf.lo.disable_ipv6': '0' };
/** Of the interface that comes later. */
const IPV6_OF_WIRED = { 'net.ipv6.conf.default.disable_ipv6': '1' };
/** Docker's own SIGKILL comes after this; the init ends sooner by itself. */
const STOP_TIMEOUT_S = 4;

export type ContainerOrigin = 'pool' | 'direct';

export interface SizeMb {
  readonly cpu: number;
  readonly memoryMb: number;
}

export interface EngineOptions {
  readonly docker: Docker;
  readonly agentId: string;
  /** Docker network of the computers. */
  readonly network: string;
  /** The hard limits of every computer, whatever its size. */
  readonly burst: SizeMb;
  readonly pidsMax: number;
  /** OCI runtime (`runc`, `runsc`), or undefined for the engine's default. */
  readonly runtime: string | undefined;
  /** Whether this host's kernel has IPv6. */
  readonly ipv6: boolean;
  /** Host path of the compiled init. */
  readonly initBinary: string;
  /** How long an answer is waited for; undefined: for a minute. */
  readonly answerMsMax?: number | undefined;
}

export interface ContainerSpec {
  readonly slot: string;
  readonly origin: ContainerOrigin;
  readonly image: string;
  readonly size: SizeMb;
  /** Host directory in which the init makes its socket. */
  readonly controlDirectory: string;
  readonly workspace: {
    readonly directory: string;
    /** Mounts that are made on the host later appear inside. */
    readonly followsMounts: boolean;
  };
  /** Host directory of the files that name hosts; undefined: Docker's own. */
  readonly networkFiles?: string | undefined;
  /** It gets no network of the engine's: the agent lays a wire once it runs (wires.ts). */
  readonly wired: boolean;
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
  readonly origin: ContainerOrigin;
  readonly running: boolean;
  readonly createdAt: Date;
}

export interface ContainerState {
  readonly slot: string;
  readonly running: boolean;
  /** Of its init, as the engine's host numbers processes; 0 when it does not run. */
  readonly pid: number;
  /** As in `ContainerSpec`. */
  readonly wired: boolean;
  /** By what the engine was told last. */
  readonly size: SizeMb;
  readonly oomKilled: boolean;
  readonly exitCode: number;
}

export interface Engine {
  /** Creates, does not start. Returns Docker's id. */
  create(spec: ContainerSpec): Promise<string>;
  /** Undefined where the engine keeps them in another way than its overlay2 does. */
  writablePlaces(containerId: string): Promise<WritablePlaces | undefined>;
  start(containerId: string): Promise<void>;
  /** Gives a container another size in place. */
  resize(containerId: string, size: SizeMb): Promise<void>;
  /** SIGTERM, and SIGKILL after a grace. Nothing happens if it is stopped or gone. */
  stop(containerId: string): Promise<void>;
  /** Resolves when it does not run, or is gone. */
  ended(containerId: string): Promise<void>;
  /** Kills and removes. Nothing happens if it is gone. */
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
  /** What is asked is done later perhaps, all the same: the reconciler finds it. */
  const answered = <T>(answer: Promise<T>) => answeredBy(answer, answerMsMax);
  const unlessGone = <T>(answer: Promise<T>) => orGone(answered(answer));
  return {
    async create(spec) {
      const container = await answered(docker.createContainer(containerConfig(spec, options)));
      return container.id;
    },
    async writablePlaces(containerId) {
      const { GraphDriver, Mounts } = await answered(docker.getContainer(containerId).inspect());
      // Dockerode's types know another driver's.
      const { UpperDir: upper } = (GraphDriver?.Data ?? {}) as { readonly UpperDir?: string };
      if (GraphDriver?.Name !== 'overlay2' || upper === undefined) return undefined;
      const volumes = Mounts.filter(({ Type }) => Type === 'volume').map(({ Source }) => Source);
      return { layer: dirname(upper), volumes };
    },
    start: (containerId) => answered(docker.getContainer(containerId).start()),
    async resize(containerId, size) {
      await answered(docker.getContainer(containerId).update(guaranteed(size, options.burst)));
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
        origin: Labels[LABEL_ORIGIN] === 'pool' ? 'pool' : 'direct',
        running: State === 'running',
        createdAt: new Date(Created * 1000),
      }));
    },
  };
}

function containerConfig(spec: ContainerSpec, options: EngineOptions): Docker.ContainerCreateOptions {
  const { burst, initBinary } = options;
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
    NetworkDisabled: spec.wired,
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      [LABEL_AGENT]: options.agentId,
      [LABEL_SLOT]: spec.slot,
      [LABEL_ORIGIN]: spec.origin,
    },
    HostConfig: {
      ...guaranteed(spec.size, burst),
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
      NetworkMode: spec.wired ? NO_NETWORK : options.network,
      ...(options.ipv6 ? { Sysctls: spec.wired ? IPV6_OF_WIRED : IPV6_OF_ENGINE } : {}),
      IpcMode: 'private',
      RestartPolicy: { Name: 'no' },
      // Output goes through the init; what a log driver would write fills the host's disk.
      LogConfig: { Type: 'none', Config: {} },
      ...(options.runtime === undefined ? {} : { Runtime: options.runtime }),
      Mounts: [
        { Type: 'bind', Source: initBinary, Target: INIT_PATH, ReadOnly: true },
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
    wired: HostConfig.NetworkMode === NO_NETWORK,
    size: {
      cpu: (HostConfig.CpuShares ?? CPU_SHARES_PER_CORE) / CPU_SHARES_PER_CORE,
      memoryMb: (HostConfig.MemoryReservation ?? 0) / BYTES_PER_MB,
    },
    oomKilled: State.OOMKilled,
    exitCode: State.ExitCode,
  };
}

/** 304: already so; 404: no such container; 409: being removed by somebody else. */
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
