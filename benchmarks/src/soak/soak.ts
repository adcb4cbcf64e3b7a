// A crowd on one host: computers of mixed sizes whose tenants work, some of whom throw bombs, while the host suffers
// faults; first a calm phase to compare with. At the end the bill is compared with what ran, and the host is searched
// for what was left behind.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { computerKey } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { type EventLog, openEventLog, type TestStack } from '@switchyard/testing';
import Docker from 'dockerode';
import { type Computer, ComputerClient } from '../computer-client.ts';
import { quantile } from '../figures.ts';
import { type Account, readAccount } from './account.ts';
import { type MemoryTrend, trendOf, watchAgentMemory } from './agent-memory.ts';
import { type FaultsDone, longestMs, makeFaults } from './faults.ts';
import { Random } from './random.ts';
import { type Probe, Tenant } from './tenant.ts';

export interface SoakOptions {
  /** With `SOAK_SETTINGS` in its environment. */
  readonly stack: TestStack;
  readonly computers: number;
  /** How many of them throw bombs. */
  readonly bombers: number;
  readonly calmSeconds: number;
  readonly stormSeconds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export interface Summary {
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly count: number;
}

export interface SoakReport {
  /** Of `true`, all computers together in the calm. */
  readonly calm: Summary;
  /** Of each of those that are neighbours of the bombers later, in the calm. */
  readonly calmOfEach: readonly Summary[];
  /** Of each neighbour of the bombers, in the storm; in the same order. */
  readonly storm: readonly Summary[];
  /** The same without those that waited for a killed agent. */
  readonly served: readonly Summary[];
  readonly faults: FaultsDone;
  readonly counts: Tenant['counts'];
  /** Milliseconds after its timeout that the slowest bomb was at an end. */
  readonly longestBombOverMs: number;
  readonly memory: MemoryTrend;
  readonly account: Account;
  /** Answers that must not have been given. */
  readonly wrong: readonly string[];
  /** Containers, mounts and files of deleted computers. */
  readonly leftBehind: readonly string[];
}

/** For this many computers; the ceiling of memory is such that every bomber may reach it on a machine of 16 GB. */
export function soakSettings(computers: number): Record<string, string> {
  return {
    SWITCHYARD_COMPUTERS: 'on',
    SWITCHYARD_MAX_COMPUTERS: String(computers),
    SWITCHYARD_MEMORY_MB_MAX: '2048',
    SWITCHYARD_BURST_MEMORY_MB: '2048',
    // Small enough that the bomb of disks meets its end.
    SWITCHYARD_DISK_GB: '1',
    SWITCHYARD_CPU_OVERCOMMIT: '64',
    SWITCHYARD_MEMORY_OVERCOMMIT: '16',
    SWITCHYARD_WARM_POOL: String(WARM_POOL),
  };
}

const WARM_POOL = 2;
const CREATIONS_AT_ONCE = 4;
const CPUS = [0.25, 0.5, 1, 2, 4];
const MEMORIES_MB = [512, 768, 1_024, 2_048];
/** After this part of a storm no agent is killed, so that one's memory can be watched. */
const KILLS_SHARE = 0.4;
const AGENT_WARM_UP_MINUTES = 0.5;
/** The reconciler removes an orphan after 30 s, and looks each 10 s. */
const LEFT_BEHIND_MS_MAX = 60_000;
const HOST_READY_MS_MAX = 280_000;
const LOOK_AGAIN_MS = 500;

export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { stack, say } = options;
  const bus = await connectBus({ url: stack.natsUrl, service: 'soak', logger: makeLogger('soak', 'silent') });
  const events = await openEventLog(bus);
  const client = new ComputerClient(stack);
  try {
    const tenants = await moveIn(options, client);
    const { calm, calmOfEach } = await calmPhase(options, tenants);
    say(`calm: true p50 ${calm.p50.toFixed(1)} ms, p95 ${calm.p95.toFixed(1)} ms, n ${calm.count}`);
    const storm = await stormPhase(options, tenants, await containersBy(bus, events));
    say('the storm is over');

    const ids = tenants.map(({ computer }) => computer.id);
    await eachOf(tenants, CREATIONS_AT_ONCE, ({ computer }) => client.stop(computer));
    const account = await readAccount({
      stack,
      client,
      events,
      ids,
      longestOutageMs: longestMs(storm.faults.outages),
    });
    await eachOf(tenants, CREATIONS_AT_ONCE, ({ computer }) => client.remove(computer));
    return {
      calm,
      calmOfEach,
      ...storm,
      counts: sumOf(tenants),
      longestBombOverMs: Math.max(...tenants.map(({ longestBombOverMs }) => longestBombOverMs)),
      account,
      wrong: tenants.flatMap(({ wrong }) => wrong),
      leftBehind: await searchHost(stack, ids),
    };
  } finally {
    await events.stop();
    await bus.close();
  }
}

async function moveIn({ computers, seed, say }: SoakOptions, client: ComputerClient): Promise<Tenant[]> {
  const random = new Random(seed);
  const tenants = await eachOf(Array.from({ length: computers }), CREATIONS_AT_ONCE, async (_, index) => {
    const computer = await createWhenReady(client, {
      cpu: random.oneOf(CPUS),
      memory_mb: random.oneOf(MEMORIES_MB),
    });
    const tenant = new Tenant({ client, computer, random: new Random(seed + 1 + index) });
    await tenant.settleIn();
    return tenant;
  });
  say(`${tenants.length} computers run`);
  return tenants;
}

/** The first one waits for the host: on a fresh machine it builds the standard image. */
async function createWhenReady(client: ComputerClient, size: object): Promise<Computer> {
  const giveUpAt = performance.now() + HOST_READY_MS_MAX;
  for (;;) {
    const { status, body } = await client.attempt('POST', '/v1/computers', size);
    if (status === 201) return body as Computer;
    if (status !== 503 || performance.now() > giveUpAt)
      throw new Error(`no computer could be created: ${status} ${JSON.stringify(body)}`);
    await delay(LOOK_AGAIN_MS);
  }
}

async function calmPhase({ calmSeconds, bombers }: SoakOptions, tenants: readonly Tenant[]) {
  const until = performance.now() + calmSeconds * 1_000;
  await Promise.all(tenants.map((tenant) => tenant.work(until)));
  const calmOfEach = tenants.slice(bombers).map(({ probes }) => summaryOf(probes));
  return { calm: summaryOf(tenants.flatMap(({ probes }) => probes.splice(0))), calmOfEach };
}

type ContainerOf = (id: string) => Promise<string | null>;

/** Looks it up in the computer's record. */
async function containersBy(bus: Bus, events: EventLog): Promise<ContainerOf> {
  const records = await openBucket(bus, 'computers');
  const created = await events.until('a computer', ({ type }) => type === 'computer.created');
  return async (id) => (await records.get(computerKey(created.data.org, id)))?.value.container ?? null;
}

async function stormPhase(
  { stack, bombers, stormSeconds, seed }: SoakOptions,
  tenants: readonly Tenant[],
  containerOf: ContainerOf,
) {
  const startedAt = performance.now();
  const until = startedAt + stormSeconds * 1_000;
  const ids = tenants.map(({ computer }) => computer.id);
  const neighbours = tenants.slice(bombers);
  const killsUntil = startedAt + stormSeconds * 1_000 * KILLS_SHARE;
  const [faults, samples] = await Promise.all([
    makeFaults({ stack, ids, containerOf, random: new Random(seed), killsUntil, until }),
    watchAgentMemory(stack, until),
    ...tenants.slice(0, bombers).map((tenant) => tenant.bomb(until)),
    ...neighbours.map((tenant) => tenant.work(until)),
  ]);
  const met = (probe: Probe) => faults.outages.some(({ from, to }) => probe.from < to && probe.to > from);
  return {
    faults,
    memory: trendOf(samples, AGENT_WARM_UP_MINUTES),
    storm: neighbours.map(({ probes }) => summaryOf(probes)),
    served: neighbours.map(({ probes }) => summaryOf(probes.filter((probe) => !met(probe)))),
  };
}

/** What is still there of computers that are deleted, after the time that the agent has to find it. */
async function searchHost(stack: TestStack, ids: readonly string[]): Promise<string[]> {
  const folder = join(stack.dataFolder, 'hosts', 'computer-agent');
  const agent = (await readFile(join(folder, 'host-id'), 'utf8')).trim();
  const engine = new Docker();
  const giveUpAt = performance.now() + LEFT_BEHIND_MS_MAX;
  for (;;) {
    const containers = await engine.listContainers({
      all: true,
      filters: { label: [`switchyard.agent=${agent}`] },
    });
    const named = (line: string) => ids.some((id) => line.includes(id));
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').filter(named);
    const files = await filesBelow(join(folder, 'computers'), named);
    const slots = await readdir(join(folder, 'computers', 'slots'));
    const left = [
      ...containers.slice(WARM_POOL).map(({ Id, State }) => `container ${Id} (${State}), beyond the pool`),
      ...slots.slice(WARM_POOL).map((slot) => `slot ${slot}, beyond the pool`),
      ...mounts.map((line) => `mount ${line}`),
      ...files.map((name) => `file ${name}`),
    ];
    if (left.length === 0 || performance.now() > giveUpAt) return left;
    await delay(LOOK_AGAIN_MS);
  }
}

/** A folder that went while it was read is an error, and a reason to look again. */
async function filesBelow(folder: string, named: (path: string) => boolean): Promise<string[]> {
  try {
    return (await readdir(folder, { recursive: true })).filter(named);
  } catch (error) {
    return [`below ${folder}: ${error}`];
  }
}

function summaryOf(probes: readonly Probe[]): Summary {
  const sorted = probes.map(({ from, to }) => to - from).toSorted((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), count: sorted.length };
}

function sumOf(tenants: readonly Tenant[]): Tenant['counts'] {
  const total = { commands: 0, bombs: 0, triedAgain: 0, restarts: 0 };
  for (const { counts } of tenants)
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += counts[name];
  return total;
}

/** Results in the order of the items, so many at a time. */
async function eachOf<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
