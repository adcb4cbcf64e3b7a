// An agent for tests: on a real nats-server and the real Docker engine, with a clock that the test moves.
import { randomBytes } from 'node:crypto';
import { cp, readlink, rm } from 'node:fs/promises';
import {
  type Bucket,
  type Bus,
  connectBus,
  ensureEventsStream,
  openBucket,
  requestHost,
} from '@switchyard/bus';
import {
  type ComputerObject,
  type ComputerPlacement,
  type ComputerRecord,
  computerPlacement,
  type ExecRequest,
  type ExecResult,
  newComputerRecord,
  newId,
  placementKey,
  recordKey,
  ServiceError,
  toComputerLimits,
} from '@switchyard/contracts';
import { IMAGE } from '@switchyard/sandbox-computer';
import { makeLogger, readConfig } from '@switchyard/service';
import {
  type EventLog,
  FakeClock,
  openEventLog,
  startNats,
  type TestServer,
  temporaryFolder,
} from '@switchyard/testing';
import Docker from 'dockerode';
import type { StandardImage } from './computer/preparation.ts';
import { compiledInit } from './computer/test-host.ts';
import { agentConfig } from './config.ts';
import { deleteComputer } from './lifecycle/transitions.ts';
import { type Agent, openAgent } from './run.ts';

/** Building the image is part of the first test that needs it. */
export const SETUP_TIMEOUT_MS = 600_000;
/** Timeout for agents and containers on a busy machine, where a start takes seconds. */
const ANSWER_TIMEOUT_MS = 120_000;
/** Shorter than the silence that is not billed: heartbeats are given in between. */
const STEP_MS = 30_000;
/** A due event may cause another at once: the end of a minute, then of the run. */
const TURNS_TO_SETTLE = 3;
const WAIT_MS = 60_000;
const ORG = 'org_test';

export interface TestInstallation {
  readonly natsUrl: string;
  readonly nats: TestServer;
  readonly bus: Bus;
  readonly placements: Bucket<ComputerPlacement>;
  readonly computers: Bucket<ComputerRecord>;
  readonly events: EventLog;
  /** For an agent, with its init compiled already. */
  newDataFolder(): Promise<string>;
  stop(): Promise<void>;
}

/** @param control whether the test runs control: then `events` are those that it admits, else those of the hosts */
export async function openTestInstallation({ control = false } = {}): Promise<TestInstallation> {
  const init = await compiledInit();
  const nats = await startNats();
  const bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  await ensureEventsStream(bus);
  const events = await openEventLog(bus, control ? {} : { ofHosts: true });
  return {
    natsUrl: nats.url,
    nats,
    bus,
    placements: await openBucket(bus, 'computer-placements'),
    computers: await openBucket(bus, 'computers'),
    events,
    async newDataFolder() {
      const folder = await temporaryFolder('agent');
      await cp(init, `${folder}/hosts/computer-agent/computers/init`, { recursive: true });
      return folder;
    },
    async stop() {
      await events.stop();
      await bus.close();
      await nats.stop();
    },
  };
}

export interface TestAgentOptions {
  /** Settings as in the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Data folder of an earlier agent that this one succeeds. */
  readonly dataFolder?: string;
  readonly clock?: FakeClock;
  /** Another engine than the machine's. Its bridge counts as present: no such test covers the firewall. */
  readonly docker?: Docker;
  /** As in `ComputerHostOptions`. */
  readonly engineAnswerMsMax?: number;
}

export interface TestAgent extends TestHost {
  readonly agent: Agent;
  readonly clock: FakeClock;
  readonly dataFolder: string;
  readonly docker: Docker;
  /** The agent's own connection. */
  readonly bus: Bus;
  /** Advances the clock with heartbeats. */
  pass(ms: number): Promise<void>;
  /** Removes all computers, then the agent, then its data. */
  close(): Promise<void>;
}

/** For agents of test engines, which have network namespaces of their own. */
export const anyInterface = async () => true;

/** Replaces building the image in test agents: the image is present. */
export const presentImage: StandardImage = { name: IMAGE, ensure: async () => {} };

export async function openTestAgent(
  installation: TestInstallation,
  { env = {}, dataFolder, clock = new FakeClock(), docker, ...rest }: TestAgentOptions = {},
): Promise<TestAgent> {
  const folder = dataFolder ?? (await installation.newDataFolder());
  const config = readConfig(agentConfig, {
    SWITCHYARD_DATA: folder,
    SWITCHYARD_WARM_POOL: '0',
    SWITCHYARD_BURST_MEMORY_MB: '8192',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    ...env,
  });
  const logger = makeLogger('computer-agent', config.LOG_LEVEL);
  const bus = await connectBus({ url: installation.natsUrl, service: 'computer-agent', logger });
  const engine = docker ? { docker, hasInterface: anyInterface } : { docker: new Docker() };
  const agent = await openAgent({
    config,
    bus,
    logger,
    clock,
    ...engine,
    standardImage: presentImage,
    ...rest,
  });
  await agent.ready;
  await agent.heartbeat.beat();
  const host = hostOf(installation, agent.hostId, toComputerLimits(config), () => clock.now());
  return {
    agent,
    clock,
    dataFolder: folder,
    docker: engine.docker,
    bus,
    ...host,
    pass: (ms) => passTime(agent, clock, ms),
    async close() {
      for (const computer of agent.computers.all())
        await deleteComputer(computer).catch((error: unknown) => {
          // A creation that could not be undone counts as in flight for a minute.
          if (!(error instanceof ServiceError && error.code === 'computer_not_found')) throw error;
        });
      await agent.stop();
      await bus.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Advances the clock with heartbeats, and waits until due work is done. */
export async function passTime(agent: Agent, clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= STEP_MS) {
    clock.advance(Math.min(left, STEP_MS));
    await agent.heartbeat.beat();
    for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) {
      await Promise.all(agent.computers.all().map((computer) => computer.settled()));
      clock.advance(0);
    }
  }
}

export type TestHost = ReturnType<typeof hostOf>;

/**
 * The operations of one host, as the edge and control call them.
 * @param now wall-clock time for the records that it makes
 */
export function hostOf(
  { bus, placements, computers }: TestInstallation,
  hostId: string,
  limits: ReturnType<typeof toComputerLimits>,
  now: () => number = Date.now,
) {
  const org = ORG;
  const keyOf = (id: string) => recordKey({ host: hostId, org, id });
  const timeoutMs = ANSWER_TIMEOUT_MS; // requests sent together are handled one after the other
  const ask = (verb: 'create' | 'start' | 'stop', id: string, limited = false) =>
    requestHost(bus, hostId, verb, verb === 'stop' ? { org, id } : { org, id, limited }, { timeoutMs });
  return {
    ask,
    /** Makes placement and record as control does, and has the agent create the computer. */
    async create(change: Partial<ComputerRecord> = {}, limited = false): Promise<ComputerObject> {
      const created_at = new Date(now()).toISOString();
      const record = newTestRecord(hostId, limits, { created_at, ...change });
      await placements.put(placementKey(org, record.id), computerPlacement.parse(record));
      const revision = await computers.create(recordKey(record), record);
      const made = { record, revision };
      return requestHost(bus, hostId, 'create', { org, id: record.id, limited, made }, { timeoutMs });
    },
    exec: (id: string, request: string | ExecRequest, signal?: AbortSignal): Promise<ExecResult> =>
      requestHost(
        bus,
        hostId,
        'exec',
        { org, id, body: typeof request === 'string' ? { command: request } : request },
        { requestId: `req_${randomBytes(8).toString('hex')}`, timeoutMs, ...(signal ? { signal } : {}) },
      ),
    async delete(id: string) {
      await requestHost(bus, hostId, 'delete', { org, id }, { timeoutMs });
    },
    record: async (id: string) => (await computers.get(keyOf(id)))?.value ?? null,
    /** Resolves with the record as soon as it matches. */
    recordWhen: (id: string, matches: (record: ComputerRecord) => boolean) =>
      recordWhen(computers, keyOf(id), matches),
  };
}

export function newTestRecord(
  host: string,
  limits: ReturnType<typeof toComputerLimits>,
  change: Partial<ComputerRecord> = {},
): ComputerRecord {
  return {
    ...newComputerRecord({
      id: newId('computer'),
      org: ORG,
      key_id: 'key_test',
      host,
      name: 'test',
      image: IMAGE,
      cpu: 0.25,
      memory_mb: 512,
      disk_gb: limits.diskGb,
      rates: limits.rates,
      created_at: new Date().toISOString(),
    }),
    ...change,
  };
}

async function recordWhen(
  computers: Bucket<ComputerRecord>,
  key: string,
  matches: (record: ComputerRecord) => boolean,
): Promise<ComputerRecord> {
  const watch = await computers.kv.watch({ key });
  const late = setTimeout(() => watch.stop(), WAIT_MS);
  let last: ComputerRecord | null = null;
  try {
    for await (const entry of watch) {
      if (entry.operation !== 'PUT') continue;
      last = computers.read(entry).value;
      if (matches(last)) return last;
    }
  } finally {
    clearTimeout(late);
    watch.stop();
  }
  throw new Error(`the record of ${key} did not match in time: ${JSON.stringify(last)}`);
}

/** Paths of the disk of a computer that runs or has just stopped. */
export async function diskOf(dataFolder: string, id: string): Promise<{ image: string; files: string }> {
  const disks = `${dataFolder}/hosts/computer-agent/computers/disks`;
  const disk = await readlink(`${disks}/computers/${id}`);
  return { image: `${disks}/images/${disk}.ext4`, files: `${disks}/mounts/${disk}/files` };
}

export function defaultLimits() {
  return toComputerLimits(readConfig(agentConfig, {}));
}
