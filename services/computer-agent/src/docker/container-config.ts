// The Docker engine's configuration of a computer's container: its limits, its hardening and its mounts.
import { join } from 'node:path';
import type { ComputerSpec } from '@switchyard/contracts';
import type Docker from 'dockerode';

/** Label of every container of this product; its value is the owning agent's id. */
export const LABEL_AGENT = 'switchyard.agent';
/** Names the slot (mount point, socket) of a container. */
export const LABEL_SLOT = 'switchyard.slot';

export const INIT_PATH = '/sbin/switchyard-init';
const CONTROL_PATH = '/run/switchyard';
export const INIT_SOCKET = 'init.sock';
const WORKSPACE_PATH = '/workspace';
const COMPUTER_HOSTNAME = 'computer';

/** Enough for packages and servers; nothing that reaches beyond the container. */
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
/** Processes and threads of one computer. */
const PIDS_MAX = 512;
const CPU_PERIOD_US = 100_000;
export const CPU_SHARES_PER_CORE = 1024;
/** The kernel accepts no less. */
const CPU_SHARES_MIN = 2;
export const BYTES_PER_MB = 1024 * 1024;
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

/** Guaranteed when the host is busy. */
export interface SizeMb {
  /** Cores. */
  readonly cpu: number;
  /** MiB. */
  readonly memoryMb: number;
}

/** What a computer asks of its container. */
export interface ContainerOptions extends SizeMb {
  readonly image: string;
}

/** What the record of a computer asks of its container. */
export function containerOptionsOf({ image, cpu, memory_mb }: ComputerSpec): ContainerOptions {
  return { image, cpu, memoryMb: memory_mb };
}

/**
 * Whether a warm container may serve these options. It was made of the standard image before its computer was known,
 * and takes only its size later.
 */
export function mayBePooled({ image }: ContainerOptions, standardImage: string): boolean {
  return image === standardImage;
}

/**
 * Files of /etc by name, with their content. Docker's own versions lie on the host's disk and could grow without limit;
 * root can change these as on any machine.
 */
export function networkFilesOf(_options: ContainerOptions) {
  return {
    hosts: `127.0.0.1\tlocalhost
127.0.1.1\t${COMPUTER_HOSTNAME}
::1\tlocalhost ip6-localhost ip6-loopback
ff02::1\tip6-allnodes
ff02::2\tip6-allrouters
`,
    hostname: `${COMPUTER_HOSTNAME}\n`,
    // The engine's name server, which forwards to those of the host.
    'resolv.conf': 'nameserver 127.0.0.11\noptions ndots:0\n',
  };
}

/** Settings of every container of this agent. */
export interface ContainerDefaults {
  readonly agentId: string;
  /** Docker network of the computers. */
  readonly network: string;
  /** Hard limits of every computer, independent of its size. */
  readonly burst: SizeMb;
  /** OCI runtime (`runc`, `runsc`), or undefined for the engine's default. */
  readonly runtime: string | undefined;
  /** Whether this host's kernel has IPv6. */
  readonly ipv6: boolean;
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
  /** Host directory of the files of `networkFilesOf`; undefined: Docker's own. */
  readonly networkFiles?: string | undefined;
}

export function containerConfig(
  spec: ContainerSpec,
  options: ContainerDefaults,
): Docker.ContainerCreateOptions {
  const { burst } = options;
  const ceilingBytes = burst.memoryMb * BYTES_PER_MB;
  return {
    name: `switchyard-${spec.slot}`,
    Image: spec.image,
    Entrypoint: [INIT_PATH],
    Cmd: [`${CONTROL_PATH}/${INIT_SOCKET}`],
    // The renter is root, whatever the image's default user.
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
      PidsLimit: PIDS_MAX,
      Ulimits: ULIMITS,
      CapDrop: ['ALL'],
      CapAdd: CAPABILITIES,
      SecurityOpt: ['no-new-privileges'],
      ReadonlyPaths: READONLY_PATHS,
      NetworkMode: options.network,
      ...(options.ipv6 ? { Sysctls: IPV6_SYSCTLS } : {}),
      IpcMode: 'private',
      RestartPolicy: { Name: 'no' },
      // Output goes through the init; a log driver would fill the host's disk.
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
        ...networkFileMounts(spec),
      ],
    },
  };
}

function networkFileMounts(spec: ContainerSpec): Docker.MountSettings[] {
  const { networkFiles: directory } = spec;
  if (directory === undefined) return [];
  return Object.keys(networkFilesOf(spec)).map((name) => ({
    Type: 'bind',
    Source: join(directory, name),
    Target: `/etc/${name}`,
  }));
}

/** What is guaranteed under contention. The engine refuses a reservation above the limit. */
export function guaranteed(size: SizeMb, burst: SizeMb): { CpuShares: number; MemoryReservation: number } {
  return {
    CpuShares: sharesOf(size.cpu),
    MemoryReservation: Math.min(size.memoryMb, burst.memoryMb) * BYTES_PER_MB,
  };
}

/** The weight of a computer of so many cores against others. */
export function sharesOf(cpu: number): number {
  return Math.max(CPU_SHARES_MIN, Math.round(cpu * CPU_SHARES_PER_CORE));
}
