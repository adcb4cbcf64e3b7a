// Builds the agent from its parts in order of dependency, and shuts it down.
import { join, resolve } from 'node:path';
import {
  type Bus,
  createEventPublisher,
  ensureHostEventsStream,
  openBucket,
  type ServiceHost,
  serve,
} from '@switchyard/bus';
import { type ComputerLimits, STANDARD_IMAGE, toComputerLimits } from '@switchyard/contracts';
import { ensureImage, isImagePresent } from '@switchyard/sandbox-computer';
import { type Clock, type Logger, type Running, type ServiceDeps, sleep } from '@switchyard/service';
import { HoldKeeper } from '@switchyard/spending';
import Docker from 'dockerode';
import type { ComputerHost } from './computer/computer-host.ts';
import { openComputerHost } from './computer/open-computer-host.ts';
import type { StandardImage } from './computer/preparation.ts';
import type { AgentConfig } from './config.ts';
import { BYTES_PER_MB } from './docker/container-config.ts';
import { engineInfo } from './docker/engine.ts';
import { Heartbeat } from './heartbeat.ts';
import { Capacity } from './lifecycle/capacity.ts';
import { Computers } from './lifecycle/computers.ts';
import { type DiskRoom, openDiskRoom } from './lifecycle/disk-room.ts';
import { followHostOrder } from './lifecycle/host-orders.ts';
import { Reconciler } from './lifecycle/reconciler.ts';
import { releaseComputer, shutDownComputer } from './lifecycle/transitions.ts';
import { BillableClock } from './metering/billable-clock.ts';
import type { OperationDeps } from './operations/requests.ts';
import { watchRefusal } from './refusal-gauge.ts';
import { register } from './register.ts';
import { ComputerRecords } from './store/computer-records.ts';
import { hostOfUser, loadHostId } from './store/host-identity.ts';
import { openLastHeard } from './store/last-heard.ts';

/** On shutdown, commands may finish for this long; then their callers turn to the next agent. */
const COMMANDS_FINISH_MS = 5_000;

/** Computers that take longer to recover do not delay the heartbeat, and so the billing, of the others. */
const RECOVERY_MS_MAX = 10_000;

/** Preparing a host that has the image takes about a second. */
const PREPARE_MS = 4_000;

interface AgentOptions {
  readonly config: AgentConfig;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly docker: Docker;
  readonly standardImage: StandardImage;
  /** As in `ComputerHostOptions`. */
  readonly engineAnswerMsMax?: number | undefined;
  /** As in `ComputerHostOptions`. */
  readonly hasInterface?: ((name: string) => Promise<boolean>) | undefined;
}

export interface Agent extends Running {
  readonly hostId: string;
  readonly computers: Computers;
  readonly reconciler: Reconciler;
  readonly heartbeat: Heartbeat;
  /** As in `ComputerHost`. */
  readonly refusal: ComputerHost['refusal'];
  /** Resolves when the standard image is there and computers can be created. */
  readonly ready: Promise<void>;
}

/** Starts the agent of a host, with the engine of the environment and the standard image. */
export async function startAgent({
  config,
  bus,
  logger,
  clock,
  metrics,
}: ServiceDeps<AgentConfig>): Promise<Agent> {
  // dockerode reads DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, like every Docker client.
  const docker = new Docker();
  const standardImage: StandardImage = {
    name: STANDARD_IMAGE,
    ensure: async (onProgress, signal) => {
      if (config.SWITCHYARD_COMPUTER_IMAGE === 'build') await ensureImage({ docker, onProgress, signal });
      else if (!(await isImagePresent(docker, STANDARD_IMAGE))) {
        throw new Error(
          `${STANDARD_IMAGE} is not on this host; make it with infra/sandbox-computer/src/main.ts`,
        );
      }
    },
  };
  const agent = await openAgent({ config, bus, logger, clock, docker, standardImage });
  watchRefusal(metrics, agent.refusal);
  // If the image is present, the agent is announced when computers can be created. A build is not waited for.
  await Promise.race([agent.ready, sleep(PREPARE_MS, clock)]);
  await agent.heartbeat.beat();
  return agent;
}

export async function openAgent(options: AgentOptions): Promise<Agent> {
  const { config, bus, logger, clock } = options;
  const folder = resolve(config.SWITCHYARD_DATA, 'hosts', config.SWITCHYARD_INSTANCE);
  const hostId = await loadHostId(folder, hostOfUser(bus.user));
  const limits = toComputerLimits(config);

  // Callers wait for an agent that takes over, so independent steps run in parallel.
  const [{ events, ...stores }, { host, capacity }, lastHeard] = await Promise.all([
    openStores(bus, { outboxDir: join(folder, 'outbox'), host: hostId, logger }),
    openOwnHost(options, { hostId, folder, limits }),
    openLastHeard(folder, clock.now()),
  ]);
  const records = new ComputerRecords(stores.computers, hostId);
  const billable = new BillableClock(clock);
  const holds = new HoldKeeper({ bus, logger, host: hostId });
  const base = { hostId, host, capacity, records, billable, clock, logger };
  const computers = new Computers({
    ...base,
    events,
    holds,
    limits,
    outputBytesMax: config.SWITCHYARD_OUTPUT_BYTES_MAX,
    lastHeardBefore: lastHeard.before,
  });
  const reconciler = new Reconciler({ ...base, computers });
  const service = await serveRecovered(options, { hostId, host, computers, limits, reconciler });
  const followOrder = () => followHostOrder({ ...base, orders: stores.orders, computers });
  const heartbeat = new Heartbeat({ ...base, hosts: stores.hosts, followOrder, lastHeard });
  await heartbeat.start();
  reconciler.start();
  host.prepare((containerId) => reconciler.mayBeOwned(containerId));
  logger.info({ host: hostId, computers: computers.all().length }, 'the computers of this host are served');

  return {
    hostId,
    computers,
    reconciler,
    heartbeat,
    refusal: host.refusal,
    ready: host.ready,
    async stop() {
      await reconciler.stop();
      await heartbeat.stop();
      const drained = service.drain();
      await Promise.race([drained, sleep(COMMANDS_FINISH_MS, clock)]);
      if (config.SWITCHYARD_COMPUTERS_ON_SHUTDOWN === 'stop') await stopAll(computers, logger);
      await Promise.all(computers.all().map(releaseComputer));
      await reconciler.removeAllOrphans().catch((error: unknown) => {
        logger.warn({ err: error }, 'containers that no computer owns are left to the next agent');
      });
      holds.stop();
      await host.close();
      await events.close();
    },
  };
}

interface Recovering extends OperationDeps {
  readonly hostId: string;
  readonly host: ComputerHost;
  readonly reconciler: Reconciler;
}

/**
 * Recovers what an earlier agent left before new work and before the first heartbeat: until then, the time of the last
 * heartbeat shows the unmetered interval. A call waits only for its own computer.
 */
async function serveRecovered(
  { bus, clock }: AgentOptions,
  { hostId, host, computers, limits, reconciler }: Recovering,
): Promise<ServiceHost> {
  const recovered = reconciler.reconcile();
  recovered.catch(() => {}); // the error is handled where `recovered` is awaited
  const service = await serve(bus, {
    name: 'computer-agent',
    version: '0.1.0',
    description: 'Computers of one Docker host: lifecycle, commands, minutes',
  });
  await Promise.race([reconciler.found, recovered]);
  register(service, hostId, { computers, limits });
  host.guard();
  await Promise.race([recovered, sleep(RECOVERY_MS_MAX, clock)]);
  return service;
}

/** What is kept on the bus. @throws while JetStream is unavailable */
async function openStores(
  bus: Bus,
  events: { readonly outboxDir: string; readonly host: string; readonly logger: Logger },
) {
  await ensureHostEventsStream(bus);
  const [hosts, orders, computers, publisher] = await Promise.all([
    openBucket(bus, 'hosts'),
    openBucket(bus, 'host-orders'),
    openBucket(bus, 'computers'),
    createEventPublisher({ bus, ...events }),
  ]);
  return { hosts, orders, computers, events: publisher };
}

interface HostParts {
  readonly hostId: string;
  readonly folder: string;
  readonly limits: ComputerLimits;
}

/** The Docker host of this agent, and its capacity. @throws if the engine does not answer */
async function openOwnHost(options: AgentOptions, { hostId, folder, limits }: HostParts) {
  const { config, logger, docker, standardImage } = options;
  const { burst, cpu, memory_mb: memory } = limits.options;
  let disk: DiskRoom | undefined;
  const asked = engineInfo(docker).then(async (info) => {
    disk = await openDiskRoom([folder, info.DockerRootDir], config.SWITCHYARD_HOST_DISK_GB_FREE_MIN);
    const size = {
      cpu: info.NCPU * config.SWITCHYARD_CPU_OVERCOMMIT,
      memoryMb: Math.floor((info.MemTotal / 1024 / 1024) * config.SWITCHYARD_MEMORY_OVERCOMMIT),
    };
    return new Capacity(size, disk);
  });
  const opened = openComputerHost({
    agentId: hostId,
    dataDirectory: join(folder, 'computers'),
    docker,
    logger,
    standardImage,
    burst: { cpu: burst.cpu, memoryMb: burst.memory_mb },
    defaultSize: { cpu: cpu.default, memoryMb: memory.default },
    diskGb: limits.diskGb,
    disks: config.SWITCHYARD_COMPUTER_DISKS,
    warmPool: config.SWITCHYARD_WARM_POOL,
    runtime: config.SWITCHYARD_COMPUTER_RUNTIME,
    allowedNetworks: config.SWITCHYARD_COMPUTER_NETWORKS,
    mbitMax: config.SWITCHYARD_COMPUTER_MBIT_MAX,
    imageGbMax: config.SWITCHYARD_IMAGE_GB_MAX,
    hasRoom: () => disk?.enough ?? true,
    roomBytes: async () => {
      await disk?.measure();
      return disk?.freeMb == null ? Number.POSITIVE_INFINITY : (disk.freeMb - disk.freeMbMin) * BYTES_PER_MB;
    },
    engineAnswerMsMax: options.engineAnswerMsMax,
    hasInterface: options.hasInterface,
  });
  const [capacity, host] = await Promise.all([asked, opened]);
  return { capacity, host };
}

/** Stops each separately: a computer that cannot be stopped is left to the next agent of this host. */
async function stopAll(computers: Computers, logger: Logger): Promise<void> {
  await Promise.all(
    computers.all().map((computer) =>
      shutDownComputer(computer).catch((error: unknown) => {
        logger.warn({ err: error, computer: computer.id }, 'a computer could not be stopped');
      }),
    ),
  );
}
