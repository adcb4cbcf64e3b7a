// Builds the agent from its parts, in the order in which they need each other, and takes it down again.
import { join, resolve } from 'node:path';
import { type Bus, createEventPublisher, ensureEventsStream, openBucket, serve } from '@switchyard/bus';
import { type ComputerLimits, STANDARD_IMAGE, toComputerLimits } from '@switchyard/contracts';
import { ensureImage, isImagePresent } from '@switchyard/sandbox-computer';
import { type Clock, type Logger, passed, type Running, type Surroundings } from '@switchyard/service';
import { HoldKeeper } from '@switchyard/spending';
import Docker from 'dockerode';
import { openComputerHost } from './computer/open-computer-host.ts';
import type { StandardImage } from './computer/standard-image.ts';
import type { AgentConfig } from './config.ts';
import { engineInfo } from './docker/engine.ts';
import { Heartbeat } from './heartbeat.ts';
import { Capacity } from './lifecycle/capacity.ts';
import { Computers } from './lifecycle/computers.ts';
import { type DiskRoom, openDiskRoom } from './lifecycle/disk-room.ts';
import { HostOrders } from './lifecycle/host-orders.ts';
import { Reconciler } from './lifecycle/reconciler.ts';
import { BillableClock } from './metering/billable-clock.ts';
import { register } from './register.ts';
import { ComputerRecords } from './store/computer-records.ts';
import { loadHostId } from './store/host-identity.ts';
import { openLastHeard } from './store/last-heard.ts';

/** At the end of the agent, commands may run on for this long before their callers are left to ask its successor. */
const COMMANDS_FINISH_MS = 5_000;

/** One that is not in order by then does not keep the others from being heard, and so from being paid for. */
const IN_ORDER_MS = 10_000;

/** Preparing a host on which the image is there takes about a second. */
const PREPARE_MS = 4_000;

export interface AgentOptions {
  readonly config: AgentConfig;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly docker: Docker;
  readonly standardImage: StandardImage;
  /** As in `ComputerHostOptions`. */
  readonly engineAnswerMsMax?: number | undefined;
}

export interface Agent extends Running {
  readonly hostId: string;
  readonly computers: Computers;
  readonly reconciler: Reconciler;
  readonly heartbeat: Heartbeat;
  /** Resolves when the standard image is there and computers can be created. */
  readonly ready: Promise<void>;
}

/** The agent of a host as it is run: with the engine of the environment and the standard image. */
export async function startAgent({ config, bus, logger, clock }: Surroundings<AgentConfig>): Promise<Agent> {
  // dockerode reads DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, as every client of Docker does.
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
  // Where the image is there, so are computers when the agent says that it is; a build is not waited for.
  await Promise.race([agent.ready, passed(PREPARE_MS, clock)]);
  await agent.heartbeat.beat();
  return agent;
}

export async function openAgent(options: AgentOptions): Promise<Agent> {
  const { config, bus, logger, clock } = options;
  const folder = resolve(config.SWITCHYARD_DATA, 'hosts', config.SWITCHYARD_INSTANCE);
  const hostId = await loadHostId(folder);
  const limits = toComputerLimits(config);

  // Callers wait for an agent that takes over: what does not need each other goes side by side.
  const [stores, { cores, memoryBytes, disk, host }, lastHeard] = await Promise.all([
    openStores(bus, join(folder, 'outbox'), logger),
    openOwnHost(options, { hostId, folder, limits }),
    openLastHeard(folder, clock.now()),
  ]);
  const { events } = stores;

  const size = {
    cpu: cores * config.SWITCHYARD_CPU_OVERCOMMIT,
    memoryMb: Math.floor((memoryBytes / 1024 / 1024) * config.SWITCHYARD_MEMORY_OVERCOMMIT),
  };
  const capacity = new Capacity(size, disk);
  const billable = new BillableClock(clock);
  const holds = new HoldKeeper({ bus, logger });
  const records = new ComputerRecords(stores.computers, hostId);
  const computers = new Computers({
    hostId,
    host,
    records,
    events,
    capacity,
    holds,
    billable,
    limits,
    outputBytesMax: config.SWITCHYARD_OUTPUT_BYTES_MAX,
    clock,
    logger,
    lastHeardBefore: lastHeard.before,
  });

  // What an earlier agent left is put in order before anything new is done with it, and before this host is heard again:
  // until then the time of the last heartbeat still says how long nobody metered. A call waits for its own computer alone.
  const reconciler = new Reconciler({ host, records, computers, clock, logger });
  const inOrder = reconciler.reconcile();
  inOrder.catch(() => {}); // told where it is waited for
  const service = await serve(bus, {
    name: 'computer-agent',
    version: '0.1.0',
    description: 'Computers of one Docker host: lifecycle, commands, minutes',
  });
  await Promise.race([reconciler.found, inOrder]);
  register(service, { hostId, computers, limits });
  host.guard();
  await Promise.race([inOrder, passed(IN_ORDER_MS, clock)]);
  const orders = new HostOrders({ hostId, orders: stores.orders, capacity, computers, logger });
  const heartbeat = new Heartbeat({
    hostId,
    hosts: stores.hosts,
    host,
    capacity,
    orders,
    billable,
    lastHeard,
    clock,
    logger,
  });
  await heartbeat.start();
  reconciler.start();
  host.prepare();
  logger.info(
    { host: hostId, cores, computers: computers.all().length },
    'the computers of this host are served',
  );

  return {
    hostId,
    computers,
    reconciler,
    heartbeat,
    ready: host.ready,
    async stop() {
      await reconciler.stop();
      await heartbeat.stop();
      const drained = service.drain();
      await Promise.race([drained, passed(COMMANDS_FINISH_MS, clock)]);
      if (config.SWITCHYARD_COMPUTERS_ON_SHUTDOWN === 'stop') await stopAll(computers, logger);
      await Promise.all(computers.all().map((computer) => computer.release()));
      holds.stop();
      await host.close();
      await events.close();
    },
  };
}

/** What is kept on the bus. @throws while JetStream is away */
async function openStores(bus: Bus, outboxDir: string, logger: Logger) {
  await ensureEventsStream(bus);
  const [hosts, orders, computers, events] = await Promise.all([
    openBucket(bus, 'hosts'),
    openBucket(bus, 'host-orders'),
    openBucket(bus, 'computers'),
    createEventPublisher({ bus, outboxDir, logger }),
  ]);
  return { hosts, orders, computers, events };
}

interface HostParts {
  readonly hostId: string;
  readonly folder: string;
  readonly limits: ComputerLimits;
}

/** The Docker host that this agent speaks for, and how large it is. @throws where the engine does not answer */
async function openOwnHost(options: AgentOptions, { hostId, folder, limits }: HostParts) {
  const { config, logger, docker, standardImage } = options;
  let disk: DiskRoom | undefined;
  const asked = engineInfo(docker).then(async (info) => {
    disk = await openDiskRoom([folder, info.DockerRootDir], config.SWITCHYARD_HOST_DISK_GB_FREE_MIN);
    return { cores: info.NCPU, memoryBytes: info.MemTotal, disk };
  });
  const opened = openComputerHost({
    agentId: hostId,
    dataDirectory: join(folder, 'computers'),
    docker,
    logger,
    standardImage,
    burst: limits.burst,
    defaultSize: { cpu: limits.cpu.default, memoryMb: limits.memoryMb.default },
    diskGb: limits.diskGb,
    disks: config.SWITCHYARD_COMPUTER_DISKS === 'auto',
    warmPool: config.SWITCHYARD_WARM_POOL,
    runtime: config.SWITCHYARD_COMPUTER_RUNTIME,
    allowedNetworks: config.SWITCHYARD_COMPUTER_NETWORKS,
    imageGbMax: config.SWITCHYARD_IMAGE_GB_MAX,
    hasRoom: () => disk?.enough ?? true,
    engineAnswerMsMax: options.engineAnswerMsMax,
  });
  const [engine, host] = await Promise.all([asked, opened]);
  return { ...engine, host };
}

/** Each by itself: one that cannot be stopped is left to the next agent of this host. */
async function stopAll(computers: Computers, logger: Logger): Promise<void> {
  await Promise.all(
    computers.all().map((computer) =>
      computer.shutDown().catch((error: unknown) => {
        logger.warn({ err: error, computer: computer.id }, 'a computer could not be stopped');
      }),
    ),
  );
}
