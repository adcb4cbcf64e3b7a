// Puts the parts together: the one way to get a ComputerHost.
//
// Under the data directory:
//   init/        the compiled init                    control/   sockets of the inits
//   slots/       mount points of pooled containers    claims/    containers that left the pool
//   workspaces/  files of computers without a disk    disks/     those of computers with one
//   images/      foreign images that were pulled      system/    what computers write outside of their workspaces
import { randomBytes } from 'node:crypto';
import { access, mkdir, readdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type Docker from 'dockerode';
import { quickenCgroupMoves } from '../docker/cgroup-moves.ts';
import { type CpuCgroup, cgroupsOf, openCpuCgroup, viewCgroups } from '../docker/cpu-cgroup.ts';
import { type ContainerState, createEngine, type Engine, type SizeMb, sharesOf } from '../docker/engine.ts';
import { createForeignImages } from '../docker/foreign-images.ts';
import { openHostIdle } from '../docker/host-idle.ts';
import { raiseHostLimits } from '../docker/host-limits.ts';
import { startCompiledRunner, startRunner } from '../docker/host-programs.ts';
import { createMounter } from '../docker/mounter.ts';
import { closeMountSlots, type MountSlots, openMountSlots } from '../docker/mounts.ts';
import { networkName, openNetwork } from '../docker/network.ts';
import { keepNetwork } from '../docker/network-keeper.ts';
import { openWires, type Wires } from '../docker/wires.ts';
import { type Claim, openClaims } from './claims.ts';
import type { ComputerHost, Reservation, ReserveOptions, RunningComputer } from './computer-host.ts';
import { openControlSockets } from './control-sockets.ts';
import { openDisks } from './disks.ts';
import { createExecActivity } from './exec-activity.ts';
import { ensureInitBinary } from './init-binary.ts';
import { connectInit } from './init-client.ts';
import type { HostLogger } from './logger.ts';
import { openPrecedence, preferEngine, preferInit } from './precedence.ts';
import { createRunningComputer } from './running-computer.ts';
import { prepareStandardImage, type StandardImage } from './standard-image.ts';
import { openSystemDisks, type SystemDisk } from './system-disks.ts';
import { openWarmPool, type StartedContainer, type WarmPool } from './warm-pool.ts';
import { openWorkspaces } from './workspaces.ts';

const PIDS_MAX_DEFAULT = 512;
const IPV6_SETTINGS = '/proc/sys/net/ipv6';
const VERIFY_TIMEOUT_MS = 30_000;
/** A disk is made ahead of need when no command runs, but not put off for longer. */
const QUIET_WAIT_MS_MAX = 2_000;
const DISK_IDLE_MS = 60_000;
/** How often it is looked whether images must go to make room. */
const ROOM_WATCH_MS = 30_000;

export interface ComputerHostOptions {
  /** Unlike that of any other agent of this Docker engine, and the same after a restart. */
  readonly agentId: string;
  /** Absolute; the Docker engine must see it at the same path. */
  readonly dataDirectory: string;
  readonly docker: Docker;
  readonly logger: HostLogger;
  readonly standardImage: StandardImage;
  /** The hard limits of a computer of any size. */
  readonly burst: SizeMb;
  /** The size with which pooled containers wait: a computer of this size needs no change when it claims one. */
  readonly defaultSize: SizeMb;
  /** GB of a new computer's disk, unless it is asked for with another. */
  readonly diskGb: number;
  /** Whether computers get disks of their own, where the host allows it. */
  readonly disks: boolean;
  /** How long the disk of a stopped computer stays mounted. */
  readonly diskIdleMs?: number;
  /** Containers in the warm pool; 0 for none. As many disks wait with them. */
  readonly warmPool: number;
  /** Processes and threads of one computer. */
  readonly pidsMax?: number;
  /** GB of an image that is pulled for a computer, unpacked. */
  readonly imageGbMax: number;
  /** Whether the host's disks may take more than what is there. */
  readonly hasRoom: () => boolean;
  readonly roomWatchMs?: number;
  /** OCI runtime, if not the engine's default. */
  readonly runtime?: string | undefined;
  /** How long an answer of the engine's is waited for, if not for its own time. */
  readonly engineAnswerMsMax?: number | undefined;
  /** Private networks (CIDR) that computers may reach all the same. */
  readonly allowedNetworks?: readonly string[];
  /** How often it is looked whether another program took the firewall's rules away. */
  readonly wallsWatchMs?: number;
  /** Aborted: its pool makes nothing more, as if this process had been killed. For tests of what the next one finds. */
  readonly killed?: AbortSignal;
}

export async function openComputerHost(options: ComputerHostOptions): Promise<ComputerHost> {
  const { docker, logger, agentId, standardImage, allowedNetworks = [] } = options;
  const at = (name: string) => join(options.dataDirectory, name);
  await mkdir(options.dataDirectory, { recursive: true });
  const ipv6 = await access(IPV6_SETTINGS).then(
    () => true,
    () => false,
  );
  const engineFor = (initBinary: string): Engine =>
    createEngine({
      docker,
      agentId,
      network: networkName(agentId),
      burst: options.burst,
      pidsMax: options.pidsMax ?? PIDS_MAX_DEFAULT,
      runtime: options.runtime,
      ipv6,
      initBinary,
      answerMsMax: options.engineAnswerMsMax,
    });
  // Everything but creating containers works before the init is compiled.
  let engine = engineFor('');
  const listed = engine.list();
  listed.catch(() => {}); // told where it is waited for
  const sockets = await openControlSockets(at('control'));
  const claims = await openClaims(at('claims'));
  const activity = createExecActivity();
  const cores = cpus().length;
  const cgroups = await viewCgroups();
  const precedence = openPrecedence({ cores, coresMax: options.burst.cpu, idleMs: openHostIdle() });
  const mounter = createMounter(logger);
  // Whoever takes computers over is waited for, and programs of the host take their time: what needs them comes when the
  // host is prepared, and new computers wait for it.
  const [disks, openedSlots] = await Promise.all([
    openDisks({
      directory: at('disks'),
      diskGb: options.diskGb,
      spares: options.warmPool,
      quiet: () => activity.quiet(QUIET_WAIT_MS_MAX),
      logger,
    }),
    openMountSlots(at('slots'), mounter.bind).catch((error: unknown) => {
      logger.warn(
        { err: error },
        'this host cannot mount into running containers: computers start without warm pool',
      );
      return undefined;
    }),
    raiseHostLimits(logger),
  ]);
  let slots = openedSlots;
  /** Whether new computers get disks. @throws ServiceError `no_capacity` where that is not known yet */
  const useDisks = () => {
    if (disks.unusable === undefined) throw new ServiceError('no_capacity', 'the host is being prepared');
    return options.disks && slots !== undefined && disks.unusable === null;
  };
  const workspaces = await openWorkspaces(at('workspaces'), { disks, useDisks });

  const systemDisks = await openSystemDisks(at('system'), options.diskGb);
  /** Whether new containers get one: proven by the first, or given up. */
  let useSystemDisks = false;
  /**
   * By which new containers get their network; undefined: by the engine. Proven by the first, or given up. Only with disks,
   * on which the files are that say whom to ask for names.
   */
  let wires: Wires | undefined;
  const foreignImages = createForeignImages({
    docker,
    memory: at('images'),
    gbMax: options.imageGbMax,
    hasRoom: options.hasRoom,
    allowedNetworks,
    logger,
  });

  let pool: WarmPool | undefined;
  /** Slots of containers that are on their way into the pool. */
  const making = new Set<string>();
  const ending = new Set<string>();
  /** Container -> slot, for one that somebody removed: it cannot be asked any more, and what is its must go all the same. */
  const slotOf = new Map<string, string>();
  let cgroupsMissed = false;
  /** Computers that stopped a moment ago. */
  const closings = new Map<string, NodeJS.Timeout>();

  /** Removes all that belongs to a slot. The container must be gone. */
  const clearSlot = async (slot: string) => {
    const claim = claims.get(slot);
    await slots?.remove(slot);
    await sockets.remove(slot);
    await systemDisks.remove(slot);
    await claims.clear(slot);
    if (claim && !claims.holds(claim.computerId)) closeLater(claim.computerId);
  };
  /** Unmounting and mounting again takes longer than a start should: a disk is kept mounted for a while. */
  const closeLater = (computerId: string) => {
    clearTimeout(closings.get(computerId));
    const timer = setTimeout(() => void closeNow(computerId), options.diskIdleMs ?? DISK_IDLE_MS);
    closings.set(computerId, timer.unref());
  };
  const closeNow = async (computerId: string) => {
    clearTimeout(closings.get(computerId));
    closings.delete(computerId);
    if (claims.holds(computerId)) return; // it runs again
    await workspaces
      .close(computerId)
      .catch((error: unknown) => logger.warn({ err: error, computer: computerId }, 'a disk stays mounted'));
  };
  const removeContainer = async (containerId: string, slot: string) => {
    ending.add(containerId);
    await systemDisks.uncoverVolumes(slot);
    await engine.remove(containerId);
    await clearSlot(slot);
    slotOf.delete(containerId);
    ending.delete(containerId);
  };

  /** Where Docker is away at the end of the agent, the next one clears away what is left. */
  const calmly = (work: Promise<void> | undefined) =>
    work?.catch((error: unknown) => logger.warn({ err: error }, 'not everything could be cleared away'));

  /** Undefined where this agent cannot see it. */
  const cgroupOf = async (pid: number, containerId: string): Promise<CpuCgroup | undefined> => {
    const cgroup = await openCpuCgroup(pid, containerId, cgroups);
    if (cgroup) preferEngine(cgroup, cores);
    if (!cgroup && !cgroupsMissed) {
      cgroupsMissed = true;
      const reason = 'this agent does not see the processes and cgroups of this host';
      logger.warn({ reason }, 'a computer that computes for long is NOT put behind those that answer');
    }
    return cgroup;
  };
  const layWire = async (pid: number, containerId: string) => {
    if (!wires) throw new Error('the container was created for a wire, and this host lays none any more');
    await wires.lay(pid, containerId);
  };
  /** Starts a container, and connects to its init; leaves nothing behind when it fails. */
  const begin = async (containerId: string, slot: string): Promise<StartedContainer> => {
    try {
      await engine.start(containerId);
      const init = await connectInit(await sockets.take(slot));
      const { pid = 0, wired = false } = (await engine.inspect(containerId)) ?? {};
      if (wired) await layWire(pid, containerId);
      const cgroup = await cgroupOf(pid, containerId);
      if (cgroup) preferInit(pid);
      return { containerId, slot, pid, init, cgroup };
    } catch (error) {
      await removeContainer(containerId, slot).catch((failure: unknown) =>
        logger.warn({ err: failure, container: containerId }, 'a container that did not start is left over'),
      );
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('computer_failed', 'the container of the computer could not be started', {
        cause: error,
      });
    }
  };
  const create = async (
    slot: string,
    spec: Pick<Parameters<Engine['create']>[0], 'origin' | 'image' | 'size' | 'workspace'>,
  ): Promise<string> => {
    await sockets.create(slot);
    try {
      const wired = wires !== undefined;
      const disk = useSystemDisks ? await systemDisks.create(slot, wires?.nameServers) : undefined;
      const networkFiles = disk?.networkFiles;
      const controlDirectory = sockets.directory(slot);
      const containerId = await engine.create({ slot, controlDirectory, networkFiles, wired, ...spec });
      slotOf.set(containerId, slot);
      if (disk) await carry(containerId, slot, disk);
      return containerId;
    } catch (error) {
      await clearSlot(slot);
      throw new ServiceError('computer_failed', 'the container of the computer could not be created', {
        cause: error,
      });
    }
  };
  /** Puts on its disk what can be written in a new container, or removes it. */
  const carry = async (containerId: string, slot: string, disk: SystemDisk) => {
    try {
      const places = await engine.writablePlaces(containerId);
      if (!places) throw new Error('the engine keeps what containers write in a way that is not known here');
      await disk.carry(places);
    } catch (error) {
      await removeContainer(containerId, slot);
      throw error;
    }
  };

  const makePooled = async (mounts: MountSlots): Promise<StartedContainer> => {
    const slot = newSlot();
    making.add(slot);
    try {
      await mounts.create(slot);
      const containerId = await create(slot, {
        origin: 'pool',
        image: standardImage.name,
        size: options.defaultSize,
        workspace: { directory: mounts.directory(slot), followsMounts: true },
      });
      return await begin(containerId, slot);
    } finally {
      setImmediate(() => making.delete(slot)); // by then it is in the pool
    }
  };
  const destroyStarted = ({ containerId, slot, init, cgroup }: StartedContainer) => {
    init.close();
    cgroup?.close();
    return removeContainer(containerId, slot);
  };

  const runningComputer = (
    { containerId, slot, init, cgroup }: StartedContainer,
    cpu: number,
  ): RunningComputer => {
    const watch = cgroup && precedence.watch(cgroup, cpu);
    if (watch) void init.closed.then(watch.close);
    return createRunningComputer({
      containerId,
      init,
      activity,
      liftLimit: () => watch?.lift() ?? (() => {}),
      inspect: () => engine.inspect(containerId),
      mendFiles: async () => {
        const claim = claims.get(slot);
        if (claim && slots) await showFiles(claim.computerId, slot, slots);
      },
      stop: async () => {
        ending.add(containerId);
        // The engine starts a program of its own to signal a container, and neighbours wait beside it.
        if (await init.stop()) await engine.ended(containerId);
        else await engine.stop(containerId);
      },
      remove: () => removeContainer(containerId, slot),
      ending: () => ending.has(containerId),
    });
  };

  /** Lets the files of a computer appear in its container. */
  const showFiles = async (computerId: string, slot: string, mounts: MountSlots) => {
    try {
      await workspaces.open(computerId);
      const files = workspaces.path(computerId);
      if (!(await mounts.shows(slot, files))) await mounts.mount(slot, files);
    } catch (error) {
      throw new ServiceError('computer_failed', 'the computer could not be given its files', {
        cause: error,
      });
    }
  };
  /** The engine takes some 50 ms for it: it is asked only where the container has another one. */
  const giveSize = async (containerId: string, { cpu, memoryMb }: Claim, has: SizeMb) => {
    if (sharesOf(cpu) === sharesOf(has.cpu) && memoryMb === has.memoryMb) return;
    try {
      await engine.resize(containerId, { cpu, memoryMb });
    } catch (error) {
      throw new ServiceError('computer_failed', 'the computer could not be given its size', { cause: error });
    }
  };
  /** Gives a claimed container its computer's files and size, as far as it has not got them. */
  const settle = async (
    { containerId, slot, pid }: Pick<StartedContainer, 'containerId' | 'slot' | 'pid'>,
    claim: Claim,
    has: SizeMb,
    mounts: MountSlots,
  ) => {
    await Promise.all([showFiles(claim.computerId, slot, mounts), giveSize(containerId, claim, has)]);
    noteSettled(slot, claim, pid);
  };
  /** For the next agent, and waited for by nobody: without it, that one asks the engine. */
  const noteSettled = (slot: string, claim: Claim, pid: number) => {
    if (claim.pid === pid) return;
    claims
      .set(slot, { ...claim, pid })
      .catch((error: unknown) => logger.warn({ err: error, slot }, 'a container could not be noted'));
  };
  /**
   * What is noted of a container that had all that it is to have, where it still runs; else what the engine says, which
   * takes it milliseconds for each. @throws ServiceError `computer_failed` where it does not run
   */
  const stateOf = async (containerId: string): Promise<Pick<ContainerState, 'slot' | 'pid' | 'size'>> => {
    const slot = slotOf.get(containerId);
    const claim = slot === undefined ? undefined : claims.get(slot);
    if (slot !== undefined && claim?.pid !== undefined && (await cgroupsOf(claim.pid, containerId)))
      return { slot, pid: claim.pid, size: claim };
    const state = await engine.inspect(containerId);
    if (!state?.running)
      throw new ServiceError('computer_failed', 'the container of the computer no longer runs');
    return state;
  };
  const reserveWarm = async (
    request: ReserveOptions,
    mounts: MountSlots,
  ): Promise<Reservation | undefined> => {
    const pooled = pool?.claim();
    if (!pooled) return undefined;
    const { containerId, slot } = pooled;
    const { computerId, cpu, memoryMb } = request;
    const claim: Claim = { computerId, cpu, memoryMb };
    await claims.set(slot, claim);
    return {
      containerId,
      warm: true,
      async start() {
        try {
          await settle(pooled, claim, options.defaultSize, mounts);
        } catch (error) {
          await destroyStarted(pooled);
          throw error;
        }
        return runningComputer(pooled, cpu);
      },
      discard: () => destroyStarted(pooled),
    };
  };

  /** Its files and size are as they must be from the start, but where they are mounted into it. */
  const reserveCold = async (request: ReserveOptions): Promise<Reservation> => {
    const { computerId, image, cpu, memoryMb } = request;
    const slot = newSlot();
    const mounts = slots;
    const spec = { origin: 'direct', image, size: { cpu, memoryMb } } as const;
    if (!mounts) {
      if (disks.has(computerId))
        throw new ServiceError('computer_failed', 'the computer’s disk cannot be mounted on its host now');
      const workspace = { directory: workspaces.path(computerId), followsMounts: false };
      const containerId = await create(slot, { ...spec, workspace });
      return {
        containerId,
        warm: false,
        start: async () => runningComputer(await begin(containerId, slot), cpu),
        discard: () => removeContainer(containerId, slot),
      };
    }
    await mounts.create(slot);
    const workspace = { directory: mounts.directory(slot), followsMounts: true };
    const containerId = await create(slot, { ...spec, workspace });
    const claim: Claim = { computerId, cpu, memoryMb };
    await claims.set(slot, claim);
    return {
      containerId,
      warm: false,
      async start() {
        const started = await begin(containerId, slot);
        try {
          await settle(started, claim, claim, mounts);
        } catch (error) {
          await destroyStarted(started);
          throw error;
        }
        return runningComputer(started, cpu);
      },
      discard: () => removeContainer(containerId, slot),
    };
  };

  /** Once, before the pool is trusted: is what the host does for a running container really seen in it? */
  const verifyContainer = async (mounts: MountSlots) => {
    const probe = await makePooled(mounts);
    try {
      const source = at('mount-probe');
      await mkdir(source, { recursive: true });
      await writeFile(join(source, 'seen'), '');
      await mounts.mount(probe.slot, source);
      const succeeds = async (id: string, command: string) => {
        const options = { timeoutMs: VERIFY_TIMEOUT_MS, outputBytesMax: 0 };
        return (await probe.init.exec({ id, command, ...options })).exitCode === 0;
      };
      if (!(await succeeds('mount-probe', 'test -e /workspace/seen && touch /tmp/seen')))
        throw new Error('what is mounted on the host does not appear in a running container');
      if (wires && !(await succeeds('wire-probe', 'grep -q eth0 /proc/net/route')))
        throw new Error('the wire of a running container is not seen in it');
      if (useSystemDisks && !(await systemDisks.isOn(probe.slot, '/tmp/seen')))
        throw new Error('what a computer writes does not land on the disk that is to bound it');
    } finally {
      await destroyStarted(probe);
    }
  };

  const withoutWires = (error: unknown): undefined => {
    logger.warn({ err: error }, 'computers get their network from the engine, which takes longer');
  };
  /** What this host cannot do for a container is given up, one thing after the other. @throws what cannot be given up */
  const verify = async (mounts: MountSlots): Promise<void> => {
    try {
      return await verifyContainer(mounts);
    } catch (error) {
      if (wires) {
        wires = withoutWires(error);
      } else if (useSystemDisks) {
        logger.warn({ err: error }, 'what computers write outside of /workspace is NOT limited here');
        useSystemDisks = false;
      } else throw error;
    }
    return verify(mounts);
  };

  const openPool = async () => {
    if (!slots) return;
    const mounts = slots;
    try {
      await verify(mounts);
    } catch (error) {
      logger.warn({ err: error }, 'mounting into running containers does not work here: no warm pool');
      slots = undefined;
      return;
    }
    if (options.warmPool === 0) return;
    pool = openWarmPool({
      size: options.warmPool,
      make: () => makePooled(mounts),
      destroy: destroyStarted,
      activity,
      logger,
      killed: options.killed,
    });
  };

  for (const { containerId, slot } of await listed) slotOf.set(containerId, slot);
  /**
   * What an earlier agent left: its pool, and slots without a container. By a list of its own: when that agent died the engine
   * may have been making a container for it, or removing one.
   */
  const clearUp = async () => {
    const left = await engine.list();
    for (const { containerId, slot } of left) slotOf.set(containerId, slot);
    for (const { containerId, slot, origin } of left)
      if (origin === 'pool' && !claims.has(slot)) await removeContainer(containerId, slot);
    const keptSlots = new Set(left.map(({ slot }) => slot));
    for (const slot of new Set([
      ...((await slots?.list()) ?? []),
      ...(await sockets.list()),
      ...claims.list(),
      ...(await systemDisks.list()),
    ])) {
      if (!keptSlots.has(slot)) await clearSlot(slot);
    }
  };

  let makingRoom: Promise<void> = Promise.resolve();
  const makeRoom = async () => {
    if (options.hasRoom()) return;
    const removed = await foreignImages.removeUnused();
    if (removed > 0) logger.info({ removed }, 'images were removed to make room on the disk');
  };
  const roomWatch = setInterval(() => {
    makingRoom = makingRoom
      .then(makeRoom)
      .catch((error: unknown) => logger.warn({ err: error }, 'no room could be made on the disk'));
  }, options.roomWatchMs ?? ROOM_WATCH_MS).unref();

  for (const id of disks.mounted()) if (!claims.holds(id)) closeLater(id);

  const directory = at('init');
  const compiled = { directory, docker, builderImage: standardImage.name };
  const network = keepNetwork(async () => {
    await startCompiledRunner(compiled, logger);
    const opened = await openNetwork({
      docker,
      agentId,
      allowedNetworks,
      logger,
      ...(options.wallsWatchMs === undefined ? {} : { watchEveryMs: options.wallsWatchMs }),
    });
    if (opened.unprotected) {
      logger.warn(
        { reason: opened.unprotected },
        'computers are NOT shut off from the host and private networks',
      );
    }
    return opened;
  }, logger);
  const preparation = prepareStandardImage(
    standardImage,
    async () => {
      engine = engineFor(await ensureInitBinary(compiled));
      const { addresses, name } = await network.opened();
      await Promise.all([mounter.start(compiled), startRunner(compiled, logger), quickenCgroupMoves(logger)]);
      await clearUp();
      if (disks.unusable === undefined) await disks.prove();
      useSystemDisks = useDisks();
      if (useSystemDisks) wires = await openWires(addresses, name).catch(withoutWires);
      await openPool();
      if (useDisks()) logger.info({ gb: options.diskGb }, 'each new computer has a disk of its own');
      else
        logger.warn(
          { reason: options.disks ? disks.unusable : 'switched off' },
          'computers write into folders of this host: NOTHING limits how much, but its disk',
        );
    },
    logger,
  );

  return {
    workspaces,
    guard: network.guard,
    prepare: preparation.start,
    imageStatus: () => preparation.status(),
    ready: preparation.ready,
    poolFilled: async () => {
      await preparation.ready;
      await pool?.filled();
      await disks.filled();
    },
    async reserve(request) {
      const status = preparation.status();
      if (!status.ready) throw new ServiceError('no_capacity', status.message);
      if (request.image !== standardImage.name)
        return foreignImages.use(request, (image) => reserveCold({ ...request, image }));
      return (slots && (await reserveWarm(request, slots))) ?? reserveCold(request);
    },
    async connect(containerId) {
      const { slot, pid, size } = await stateOf(containerId);
      const init = await connectInit(await sockets.find(slot));
      const claim = claims.get(slot);
      try {
        // An agent that died between the record and the mount must not leave a computer without its files.
        if (claim && slots) await settle({ containerId, slot, pid }, claim, size, slots);
      } catch (error) {
        init.close();
        throw error;
      }
      const cgroup = await cgroupOf(pid, containerId);
      return runningComputer({ containerId, slot, pid, init, cgroup }, claim?.cpu ?? size.cpu);
    },
    async containers() {
      return (await engine.list()).map(({ containerId, slot, origin, running, createdAt }) => ({
        containerId,
        running,
        createdAt,
        pooled:
          origin === 'pool' && !claims.has(slot) && (making.has(slot) || (pool?.holds(containerId) ?? false)),
      }));
    },
    async remove(containerId) {
      const slot = (await engine.inspect(containerId))?.slot ?? slotOf.get(containerId);
      if (slot !== undefined) await removeContainer(containerId, slot);
    },
    async close() {
      clearInterval(roomWatch);
      await makingRoom;
      await preparation.close();
      await calmly(pool?.close());
      await calmly(clearUp()); // of an agent that was never ready, too
      mounter.close();
      await Promise.all([...closings.keys()].map(closeNow));
      await calmly(disks.close());
      await calmly(network.close());
      if ((await readdir(at('slots'))).length === 0) await closeMountSlots(at('slots'));
    },
  };
}

/** Names a container's socket and mount point; also part of the container's name. */
function newSlot(): string {
  return randomBytes(8).toString('hex');
}
