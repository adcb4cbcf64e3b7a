// Computers on two hosts: two Docker engines, each with an agent in a process of its own, under one edge and one control.
// The test moves the clocks of hosts and control together, so that a minute of silence takes no minute.
import { randomBytes } from 'node:crypto';
import { cpus } from 'node:os';
import { connectBus, openBucket } from '@switchyard/bus';
import { type ComputerObject, DEFAULT_ORG, placementKey, recordKey } from '@switchyard/contracts';
import { makeLogger, readConfig } from '@switchyard/service';
import {
  canStartTestEngine,
  docker as dockerOfMachine,
  FakeClock,
  importSmallImage,
  startTestEngine,
  type TestEngine,
  temporaryFolder,
} from '@switchyard/testing';
import type Docker from 'dockerode';
import { Registry } from 'prom-client';
import { afterAll, afterEach, test as anyTest, beforeAll, describe, expect, vi } from 'vitest';
import {
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestInstallation,
} from '../services/computer-agent/src/test-agent.ts';
import { type AgentProcess, startAgentProcess } from '../services/computer-agent/src/test-agent-process.ts';
import { config as controlConfig } from '../services/control/src/config.ts';
import { hostsCommand } from '../services/control/src/hosts-command/hosts-command.ts';
import { start as startControl } from '../services/control/src/run.ts';
import { config as edgeConfig } from '../services/edge/src/config.ts';
import { start as startEdge } from '../services/edge/src/run.ts';

/** Number of the smallest computers that fit on each host. */
const PLACES = 6;
const CPU_STEP = 0.25;
/** No host may promise less than a tenth of its cores. */
const OVERCOMMIT_MIN = 0.1;
const CORES = cpus().length;
const CPU = Math.max(1, Math.ceil((OVERCOMMIT_MIN * CORES) / PLACES / CPU_STEP)) * CPU_STEP;
const SETTINGS = {
  SWITCHYARD_CPU_OVERCOMMIT: String((PLACES * CPU + CPU_STEP / 10) / CORES),
  SWITCHYARD_CPU_MAX: String(PLACES * CPU),
  SWITCHYARD_IDLE_STOP_MINUTES: '60',
};
const CAP = 10;
const logger = makeLogger('test', 'silent');
const test = anyTest.skipIf(!canStartTestEngine());

/** One Docker engine and the agent that runs its computers; `process` is null while it is killed. */
interface TestHost {
  readonly id: string;
  readonly docker: Docker;
  readonly dataFolder: string;
  readonly env: Readonly<Record<string, string>>;
  process: AgentProcess | null;
}

let installation: TestInstallation;
let clock: FakeClock;
let engine: TestEngine;
let hosts: [TestHost, TestHost];
let url: string;
const key = `sy_${randomBytes(16).toString('base64url')}`;
const closing: (() => Promise<void>)[] = [];

async function openHost(docker: Docker, engineAddress?: string): Promise<TestHost> {
  const dataFolder = await installation.newDataFolder();
  const env = { ...SETTINGS, ...(engineAddress === undefined ? {} : { DOCKER_HOST: engineAddress }) };
  const process = await startAgentProcess(installation, { dataFolder, env, now: clock.now() });
  return { id: process.hostId, docker, dataFolder, env, process };
}

async function comeBack(host: TestHost): Promise<void> {
  const { dataFolder, env } = host;
  host.process = await startAgentProcess(installation, { dataFolder, env, now: clock.now() });
}

/** Advances control, edge and the living hosts. */
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await Promise.all(hosts.map(({ process }) => process?.pass(ms)));
}

beforeAll(async () => {
  const machine = await dockerOfMachine();
  if (!machine) throw new Error('these tests need a Docker engine');
  installation = await openTestInstallation({ control: true });
  clock = new FakeClock();
  engine = await startTestEngine();
  await importSmallImage(engine.docker);
  hosts = await Promise.all([openHost(machine), openHost(engine.docker, engine.address)]);
  await pass(1_000); // a heartbeat of each prepared host, before control looks
  const connect = async (service: string) => {
    const bus = await connectBus({ url: installation.natsUrl, service, logger });
    closing.unshift(() => bus.close());
    return bus;
  };
  const control = await startControl({
    config: readConfig(controlConfig, {
      ...SETTINGS,
      SWITCHYARD_DATA: await temporaryFolder('control'),
      SWITCHYARD_KEY: key,
    }),
    bus: await connect('control'),
    logger,
    clock,
  });
  closing.unshift(() => control.stop());
  const edge = await startEdge({
    config: readConfig(edgeConfig, { SWITCHYARD_DATA: await temporaryFolder('edge'), PORT: '0' }),
    bus: await connect('edge'),
    logger,
    clock,
    metrics: new Registry(),
    signal: new AbortController().signal,
  });
  closing.unshift(() => edge.stop());
  url = edge.url;
}, SETUP_TIMEOUT_MS);

afterEach(async () => {
  for (const { id } of await list()) await call('DELETE', `/computers/${id}`);
  await pass(1_000);
});

afterAll(async () => {
  for (const close of closing) await close();
  await Promise.all((hosts ?? []).map(({ process }) => process?.stop()));
  await engine?.stop();
  await installation?.stop();
});

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
  readonly body: any;
}

async function call(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: await response.json() };
}

const list = async (): Promise<ComputerObject[]> => (await call('GET', '/computers')).body.data;
const create = (cpu = CPU) => call('POST', '/computers', { cpu, memory_mb: 512 });
const exec = (id: string, command: string) => call('POST', `/computers/${id}/exec`, { command });
const placementOf = async (id: string) =>
  (await installation.placements.get(placementKey(DEFAULT_ORG, id)))!.value;
const recordOf = async (id: string) =>
  (await installation.computers.get(recordKey(await placementOf(id))))!.value;
const hostOf = async (id: string): Promise<TestHost> => {
  const { host } = await placementOf(id);
  return hosts.find((one) => one.id === host)!;
};

/** Creates this many at once; returns the ids and the codes of refusals. */
async function createAtOnce(count: number, cpu = CPU): Promise<{ made: string[]; refused: string[] }> {
  const answers = await Promise.all(Array.from({ length: count }, () => create(cpu)));
  return {
    made: answers.filter(({ status }) => status === 201).map(({ body }) => body.id),
    refused: answers
      .filter(({ status }) => status !== 201)
      .map(({ status, body }) => `${status} ${body.error.code}`),
  };
}

/** Creates a computer on this host once control knows that it has room. */
function createOn(host: TestHost): Promise<string> {
  return vi.waitFor(
    async () => {
      const { status, body } = await create();
      expect(status, JSON.stringify(body)).toBe(201);
      if ((await hostOf(body.id)) === host) return body.id;
      await call('DELETE', `/computers/${body.id}`);
      throw new Error('it went to the other host');
    },
    { timeout: 90_000, interval: 10 },
  );
}

async function containersOf({ docker, id }: TestHost): Promise<string[]> {
  const filters = { label: [`switchyard.agent=${id}`] };
  return (await docker.listContainers({ all: true, filters })).map(({ Id }) => Id).sort();
}

/** Checks that each host's engine runs what the records say. */
async function expectWhereRecorded(ids: readonly string[]): Promise<void> {
  const records = await Promise.all(ids.map(recordOf));
  for (const host of hosts) {
    const recorded = records.filter((record) => record.host === host.id).map(({ container }) => container);
    expect(await containersOf(host)).toEqual(recorded.sort());
  }
}

describe('two hosts', () => {
  test('share the computers of an org up to its cap; each runs on its host’s engine; all of them are deleted', async () => {
    const { made, refused } = await createAtOnce(CAP + 2);
    expect(refused).toEqual(['429 computer_limit_reached', '429 computer_limit_reached']);
    expect(made).toHaveLength(CAP);
    expect((await list()).map(({ id }) => id).sort()).toEqual([...made].sort());
    const homes = await Promise.all(made.map(hostOf));
    for (const host of hosts) {
      const count = homes.filter((home) => home === host).length;
      expect(count).toBeGreaterThanOrEqual(CAP - PLACES);
      expect(count).toBeLessThanOrEqual(PLACES);
    }
    await expectWhereRecorded(made);
    const said = await Promise.all(made.map((id) => exec(id, `echo ${id} > own; cat /workspace/*`)));
    expect(said.map(({ body }) => body.stdout)).toEqual(made.map((id) => `${id}\n`));

    const deleted = await Promise.all(made.map((id) => call('DELETE', `/computers/${id}`)));
    expect(deleted.map(({ status }) => status)).toEqual(made.map(() => 200));
    for (const host of hosts) expect(await containersOf(host)).toEqual([]);
    expect((await createAtOnce(1)).made).toHaveLength(1); // its places are free
  });

  test('take only what fits: then 503, and the next goes where room is free again', async () => {
    const half = (PLACES * CPU) / 2;
    const { made, refused } = await createAtOnce(6, half);
    expect(made).toHaveLength(4);
    expect(refused).toEqual(['503 no_capacity', '503 no_capacity']);
    await expectWhereRecorded(made);
    // Control has no newer heartbeat and takes both for empty; the full one refuses.
    for (let turn = 0; turn < 4; turn++) {
      const last = made.pop()!;
      const home = await hostOf(last);
      await call('DELETE', `/computers/${last}`);
      const { status, body } = await create(half);
      expect(status).toBe(201);
      expect(await hostOf(body.id)).toBe(home);
      made.unshift(body.id);
    }
    await pass(1_000);
    const full = async () => (await create(half)).body.error?.message;
    await expect.poll(full).toBe('Every computer host is full. Retry later.');
  });
});

test('a cordoned host gets no new ones; drained, it stops its own, files kept; the other’s run on; freed, it takes more', async () => {
  const [first, second] = hosts;
  const bus = installation.bus;
  const order = async (verb: string) => {
    await hostsCommand(bus, [verb, second.id], () => clock.now());
    await pass(1_000);
  };
  const [kept, drained] = [await createOn(first), await createOn(second)];
  await exec(drained, 'echo kept > file');

  await order('cordon');
  const cordoned = async () =>
    (await openBucket(bus, 'hosts')).get(second.id).then((beat) => beat?.value.cordoned);
  await expect.poll(cordoned).toBe(true);
  const { made } = await createAtOnce(PLACES - 1);
  expect(await Promise.all(made.map(hostOf))).toEqual(made.map(() => first));
  expect(await create()).toMatchObject({ status: 503, body: { error: { code: 'no_capacity' } } });
  expect((await exec(drained, 'cat file')).body.stdout).toBe('kept\n');

  await pass(1_000); // its last command is written down: one that is just changing is stopped at a later heartbeat
  await order('drain');
  const shown = async () => (await call('GET', `/computers/${drained}`)).body;
  await expect.poll(shown).toMatchObject({ status: 'stopped', stop_reason: 'host_lost', minutes: 1 });
  expect(await containersOf(second)).toEqual([]);
  expect(await call('POST', `/computers/${drained}/start`)).toMatchObject({
    status: 503,
    body: { error: { code: 'no_capacity' } },
  });
  expect((await call('POST', `/computers/${drained}/exec`, { command: 'true' })).body.error.code).toBe(
    'computer_not_running',
  );
  expect((await exec(kept, 'echo on')).body.stdout).toBe('on\n');

  await order('uncordon');
  expect((await call('POST', `/computers/${drained}/start`)).body.status).toBe('running');
  expect((await exec(drained, 'cat file')).body.stdout).toBe('kept\n');
  await call('DELETE', `/computers/${made[0]}`);
  const home = await createOn(second);
  expect(await call('DELETE', `/computers/${home}`)).toMatchObject({ status: 200 });
});

test('a host whose agent is killed: its computers are unreachable after a minute, others run on; all recover', async () => {
  const [first, second] = hosts;
  const [near, far] = [await createOn(first), await createOn(second)];
  await exec(far, 'echo kept > file; (sleep 100000 & echo $! > pid)');
  await pass(90_000); // into the second minute
  await second.process!.kill();
  second.process = null;

  const shown = async (id: string) => (await call('GET', `/computers/${id}`)).body;
  await pass(60_000);
  expect(await shown(far)).toMatchObject({ status: 'running', minutes: 1 });
  await pass(1_000);
  expect(await shown(far)).toMatchObject({ status: 'unreachable', stops_at: null, minutes: 1 });
  expect((await list()).find(({ id }) => id === far)?.status).toBe('unreachable');
  for (const verb of ['exec', 'start', 'stop', 'links'])
    expect(
      await call('POST', `/computers/${far}/${verb}`, verb === 'exec' ? { command: 'true' } : {}),
    ).toMatchObject({
      status: 503,
      body: { error: { code: 'service_unavailable', message: expect.stringContaining('unreachable') } },
    });
  expect((await exec(near, 'echo on')).body.stdout).toBe('on\n');
  const { made, refused } = await createAtOnce(PLACES);
  expect(await Promise.all(made.map(hostOf))).toEqual(Array(PLACES - 1).fill(first));
  expect(refused).toEqual(['503 no_capacity']);
  await Promise.all(made.map((id) => call('DELETE', `/computers/${id}`)));

  await pass(10 * 60_000);
  await comeBack(second);
  await expect.poll(() => shown(far)).toMatchObject({ status: 'running' });
  expect((await exec(far, 'cat file; kill -0 $(cat pid) && echo alive')).body.stdout).toBe('kept\nalive\n');
  // 90 s until the kill, a minute of the silence, half a minute since: three minutes of the thirteen that went by.
  await pass(29_500);
  expect((await call('POST', `/computers/${far}/stop`)).body).toMatchObject({
    status: 'stopped',
    minutes: 3,
  });
  expect((await call('POST', `/computers/${near}/stop`)).body).toMatchObject({
    status: 'stopped',
    minutes: 14,
  });
  const charged = (id: string) =>
    installation.events
      .of('computer.metered')
      .filter(({ data }) => data.computer_id === id)
      .map((event) => event.id);
  await expect.poll(() => charged(far)).toEqual([0, 1, 2].map((minute) => `${far}:1:${minute}`));
  const minutes = Array.from({ length: 14 }, (_, minute) => `${near}:1:${minute}`);
  await expect.poll(() => charged(near)).toEqual(minutes);
});
