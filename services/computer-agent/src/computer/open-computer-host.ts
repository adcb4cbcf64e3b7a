// Creates a ComputerHost from its parts.
//
// Under the data directory:
//   init/        the compiled init                  control/   sockets of the inits
//   slots/       mount points of pooled containers  system/    files written outside of workspaces
//   workspaces/  files of computers without a disk  disks/     files of computers with a disk
//   images/      pulled foreign images
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, repeat, systemClock } from '@switchyard/service';
import type Docker from 'dockerode';
import type { SizeMb } from '../docker/container-config.ts';
import { createEngine } from '../docker/engine.ts';
import { createForeignImages } from '../docker/foreign-images.ts';
import { warnOfLowHostLimits } from '../docker/host-limits.ts';
import { closeMountSlots, type MountSlots, openMountSlots } from '../docker/mounts.ts';
import { BridgeNetwork, networkName } from '../docker/network.ts';
import { ComputerHost } from './computer-host.ts';
import { Containers } from './containers.ts';
import { openControlSockets } from './control-sockets.ts';
import { openCpuWeights } from './cpu-weights.ts';
import { openDisks } from './disks.ts';
import { type DiskPolicy, HostFeatures } from './host-features.ts';
import { ensureInitBinary } from './init-binary.ts';
import { Preparation, type StandardImage } from './preparation.ts';
import { Reservations } from './reservations.ts';
import { openSystemDisks } from './system-disks.ts';
import { openWorkspaces } from './workspaces.ts';

const IPV6_SETTINGS = '/proc/sys/net/ipv6';
/** How often to check whether images must be removed to free disk space. */
const ROOM_WATCH_MS = 30_000;

export interface ComputerHostOptions {
  /** Unique among the agents of this Docker engine, and stable across restarts. */
  readonly agentId: string;
  /** Absolute path, which must be the same for the Docker engine. */
  readonly dataDirectory: string;
  readonly docker: Docker;
  readonly logger: Logger;
  readonly standardImage: StandardImage;
  /** Hard limits that apply to computers of every size. */
  readonly burst: SizeMb;
  /** Size of pooled containers. */
  readonly defaultSize: SizeMb;
  /** Default GB of a new computer's disk. */
  readonly diskGb: number;
  readonly disks: DiskPolicy;
  /** How long the disk of a stopped computer stays mounted. */
  readonly diskIdleMs?: number;
  /** Number of containers in the warm pool, and of ready disks; 0 for none. */
  readonly warmPool: number;
  /** Maximum GB of a foreign image, unpacked. */
  readonly imageGbMax: number;
  /** Whether the host's disks have room for more. */
  readonly hasRoom: () => boolean;
  /** Bytes that images may still take of the host's disks, negative without `hasRoom`; measured for each call. */
  readonly roomBytes: () => Promise<number>;
  readonly roomWatchMs?: number;
  /** OCI runtime; default: the engine's. */
  readonly runtime?: string | undefined;
  /** Timeout for answers of the engine, in place of its default. */
  readonly engineAnswerMsMax?: number | undefined;
  /** Private networks (CIDR) that computers may reach. */
  readonly allowedNetworks?: readonly string[];
  /** Mbit/s per computer in each direction; undefined: unlimited. */
  readonly mbitMax?: number | undefined;
  /** How often to check the firewall rules. */
  readonly wallsWatchMs?: number;
  /** As in `BridgeNetwork`. */
  readonly hasInterface?: ((name: string) => Promise<boolean>) | undefined;
  /** How often to repeat a preparation that failed, or that found no disks where they are required. */
  readonly prepareRetryMs?: number;
  /** When aborted, nothing more is made ahead of need, as if this process had been killed. For tests of the next agent. */
  readonly killed?: AbortSignal;
}

/**
 * Running computers wait for this function. Slow work, such as most host programs, is in `prepare`, for which only
 * new computers wait.
 */
export async function openComputerHost(options: ComputerHostOptions): Promise<ComputerHost> {
  return new ComputerHost(await openParts(options));
}

export type HostParts = Awaited<ReturnType<typeof openParts>>;

async function openParts(options: ComputerHostOptions) {
  const { logger, standardImage, defaultSize } = options;
  const at = (name: string) => join(options.dataDirectory, name);
  await mkdir(options.dataDirectory, { recursive: true });
  const engine = engineOf(options);
  const storage = await openStorage(options);
  const useDisks = () => features.useDisks();
  const workspaces = await openWorkspaces(at('workspaces'), { disks: storage.disks, useDisks, logger });

  const base = { ...storage, engine, workspaces, logger };
  const containers = new Containers(base);
  const probe = { image: standardImage.name, size: defaultSize, probeDirectory: at('mount-probe') };
  const features = new HostFeatures({ ...base, ...probe, containers, policy: options.disks });
  const cpuWeights = openCpuWeights({ setShares: engine.setShares, logger });
  const reservations = new Reservations({
    ...base,
    containers,
    features,
    poolSize: options.warmPool,
    pooledImage: standardImage.name,
    pooledSize: defaultSize,
    cpuWeights,
    killed: options.killed,
  });
  const network = new BridgeNetwork({
    ...options,
    allowedNetworks: options.allowedNetworks ?? [],
    watchEveryMs: options.wallsWatchMs,
  });
  let isCleared = false;
  const prepare = async (): Promise<boolean> => {
    await storage.openSlots();
    containers.initBinary = await ensureInitBinary(compiledBy(options));
    await network.restore();
    if (!isCleared) await containers.removeLeftovers(); // at a later attempt, containers may be in the making
    isCleared = true;
    await features.prove();
    if (features.mounts && !features.lacksDisks) reservations.pool.start();
    return !features.lacksDisks && (features.mounts || storage.disks.isEmpty);
  };
  return {
    ...base,
    ...imagesOf(options),
    containers,
    reservations,
    features,
    network,
    preparation: new Preparation({
      image: standardImage,
      prepare,
      retryMs: options.prepareRetryMs,
      logger,
    }),
    standardImageName: standardImage.name,
    closeMounts: async () => {
      if ((await readdir(at('slots'))).length === 0) await closeMountSlots(at('slots'));
    },
  };
}

function engineOf(options: ComputerHostOptions) {
  return createEngine({
    docker: options.docker,
    agentId: options.agentId,
    network: networkName(options.agentId),
    burst: options.burst,
    runtime: options.runtime,
    ipv6: existsSync(IPV6_SETTINGS),
    answerMsMax: options.engineAnswerMsMax,
  });
}

/** What is kept on this host's disk. */
async function openStorage(options: ComputerHostOptions) {
  const { diskGb, logger, dataDirectory, warmPool, killed } = options;
  const at = (name: string) => join(dataDirectory, name);
  let slots: MountSlots | undefined;
  /** Safe to repeat. */
  const openSlots = async () => {
    slots ??= await openMountSlots(at('slots')).catch((error: unknown) => {
      const failed = 'this host cannot mount into running containers: computers start without warm pool';
      logger.warn({ err: error }, failed);
      return undefined;
    });
  };
  const [disks, sockets, systemDisks] = await Promise.all([
    openDisks({
      directory: at('disks'),
      diskGb,
      spares: warmPool,
      idleMs: options.diskIdleMs,
      logger,
      killed,
    }),
    openControlSockets(at('control')),
    openSystemDisks(at('system'), diskGb),
    openSlots(),
    warnOfLowHostLimits(logger),
  ]);
  return { disks, slots: () => slots, openSlots, sockets, systemDisks };
}

function imagesOf(options: ComputerHostOptions) {
  const { docker, hasRoom, roomBytes, allowedNetworks = [], roomWatchMs = ROOM_WATCH_MS, logger } = options;
  const foreignImages = createForeignImages({
    docker,
    memory: join(options.dataDirectory, 'images'),
    gbMax: options.imageGbMax,
    hasRoom,
    roomBytes,
    answerMsMax: options.engineAnswerMsMax,
    allowedNetworks,
    logger,
  });
  const makeRoom = async () => {
    if (hasRoom()) return;
    const removed = await foreignImages.removeUnused(async () => (await roomBytes()) >= 0);
    if (removed > 0) logger.info({ removed }, 'images were removed to make room on the disk');
  };
  const failed = 'no room could be made on the disk';
  const imageRoom = repeat({ everyMs: roomWatchMs, clock: systemClock, logger, failed }, makeRoom);
  return { foreignImages, imageRoom };
}

/** How the init is compiled. */
function compiledBy({ dataDirectory, docker, standardImage }: ComputerHostOptions) {
  return { directory: join(dataDirectory, 'init'), docker, builderImage: standardImage.name };
}
