// Control and the agents of hosts together, on a real nats-server and the real Docker engine: the cap, placement,
// creations that fail halfway, and a lost host. The test moves the clock.
import { cp, rm, writeFile } from 'node:fs/promises';
import { connectBus, openBucket, request } from '@switchyard/bus';
import {
  type ComputerObject,
  type ComputerRecord,
  type CreateComputerRequest,
  type HostHeartbeat,
  newId,
  placementKey,
  type ServiceError,
} from '@switchyard/contracts';
import { makeLogger, readConfig } from '@switchyard/service';
import { FakeClock, temporaryFolder } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { mountCommand } from '../services/computer-agent/src/docker/mounts.ts';
import {
  defaultLimits,
  newTestRecord,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from '../services/computer-agent/src/test-agent.ts';
import { startAgentProcess } from '../services/computer-agent/src/test-agent-process.ts';
import { config as controlConfig } from '../services/control/src/config.ts';
import { hostsCommand } from '../services/control/src/hosts-command/hosts-command.ts';
import { SWEEPS_MS, start as startControl } from '../services/control/src/run.ts';

/** Until control has heard a heartbeat. */
const HEARD_MS_MAX = 60_000;

const logger = makeLogger('control', 'silent');
const caller = { org: 'org_test', key_id: 'key_caller' };

let installation: TestInstallation;
let clock: FakeClock;
let testAgent: TestAgent;
const closing: (() => Promise<void>)[] = [];

/** One more instance of control, with a connection of its own. */
async function openControl(env: Record<string, string> = {}): Promise<void> {
  const folder = await temporaryFolder('control');
  const bus = await connectBus({ url: installation.natsUrl, service: 'control', logger });
  const config = readConfig(controlConfig, { SWITCHYARD_DATA: folder, ...env });
  const control = await startControl({ config, bus, logger, clock });
  closing.push(async () => {
    await control.stop();
    await bus.close();
  });
}

beforeAll(async () => {
  installation = await openTestInstallation({ control: true });
  clock = new FakeClock();
  testAgent = await openTestAgent(installation, { clock });
  await openControl();
  await openControl();
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  for (const close of closing) await close();
  await testAgent?.close();
  await installation?.stop();
});

afterEach(async () => {
  await testAgent.agent.heartbeat.beat();
  for (const { id } of await list()) await remove(id);
});

/** A disk of so many MiB, in memory. */
async function smallDisk(mb: number): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await temporaryFolder('disk');
  await mountCommand('mount', '-t', 'tmpfs', '-o', `size=${mb}m`, 'tmpfs', path);
  return {
    path,
    async remove() {
      await mountCommand('umount', '--lazy', path);
      await rm(path, { recursive: true });
    },
  };
}

const create = (body: CreateComputerRequest = { cpu: 0.25, memory_mb: 512 }, who = caller) =>
  request(installation.bus, 'computers.create', { ...who, body, limited: false });
const get = (id: string, who = caller) => request(installation.bus, 'computers.get', { ...who, id });
const remove = (id: string, who = caller) => request(installation.bus, 'computers.delete', { ...who, id });
const list = async (who = caller): Promise<ComputerObject[]> =>
  (await request(installation.bus, 'computers.list', { ...who, query: {} })).data;
const slotsOf = async (org: string) =>
  Object.keys((await (await openBucket(installation.bus, 'computer-slots')).get(org))?.value ?? {});
const minutesOf = (id: string) =>
  installation.events
    .of('computer.metered')
    .filter(({ data }) => data.computer_id === id)
    .map((event) => event.id);

describe('a computer', () => {
  test('is created as asked, listed, shown and deleted; its key pays', async () => {
    const before = clock.now();
    const metadata = { team: 'search' };
    const computer = await create({
      ...{ name: 'mine', cpu: 0.5, memory_mb: 768, idle_stop_minutes: 3, metadata },
    });
    expect(computer).toEqual({
      id: expect.stringMatching(/^cmp_/),
      object: 'computer',
      name: 'mine',
      status: 'running',
      image: 'switchyard/sandbox-computer:latest',
      cpu: 0.5,
      memory_mb: 768,
      idle_stop_minutes: 3,
      metadata,
      created_at: new Date(before).toISOString(),
      minutes: 0,
      cost: 0,
      stop_reason: null,
      idle_since: new Date(before).toISOString(),
      stops_at: new Date(before + 180_000).toISOString(),
      error: null,
    });
    expect(await get(computer.id)).toEqual(computer);
    expect(await list()).toEqual([computer]);
    expect(await slotsOf(caller.org)).toEqual([computer.id]);
    expect(await remove(computer.id)).toEqual({ id: computer.id, object: 'computer', deleted: true });
    await expect(get(computer.id)).rejects.toMatchObject({ code: 'computer_not_found' });
    await expect(remove(computer.id)).rejects.toMatchObject({ code: 'computer_not_found' });
    expect(await slotsOf(caller.org)).toEqual([]);
    const minute = await installation.events.until('minute', ({ id }) => id === `${computer.id}:1:0`);
    expect(minute.data).toMatchObject({ key_id: caller.key_id, run: 1, minute: 0, cpu: 0.5, tags: metadata });
  });

  test('of another org, or with an unknown id, is not found', async () => {
    const { id } = await create();
    const other = { org: 'org_other', key_id: 'key_other' };
    for (const strange of [id.slice(0, -1), 'cmp_nobody', '*', '>', 'a.b', '', 'x'.repeat(500)])
      await expect(get(strange)).rejects.toMatchObject({ code: 'computer_not_found' });
    await expect(get(id, other)).rejects.toMatchObject({ code: 'computer_not_found' });
    await expect(remove(id, other)).rejects.toMatchObject({ code: 'computer_not_found' });
    expect(await list(other)).toEqual([]);
    expect((await get(id)).status).toBe('running');
  });

  test('without a name gets one', async () => {
    expect((await create()).name).toMatch(/^[a-z]+-[a-z]+-\d{3}$/);
  });

  test('shows since when it is idle, and that it is not while a command runs', async () => {
    const { id } = await create();
    const running = testAgent.exec(id, 'until [ -e go ]; do sleep 0.01; done');
    await testAgent.exec(id, 'true'); // the first is on when the second has answered
    await testAgent.pass(1_000);
    expect(await get(id)).toMatchObject({ idle_since: null });
    await testAgent.exec(id, 'touch go');
    await running;
    const ended = clock.now();
    await testAgent.pass(1_000);
    expect(await get(id)).toMatchObject({
      idle_since: new Date(ended).toISOString(),
      stops_at: new Date(ended + 120_000).toISOString(),
    });
  });
});

describe('the cap', () => {
  test('of ten is exact under fifty creates at once over two instances; stopped ones count; a delete makes room', async () => {
    const tries = await Promise.allSettled(Array.from({ length: 50 }, () => create()));
    const made = tries.filter((one) => one.status === 'fulfilled').map((one) => one.value.id);
    const refused = tries.filter((one) => one.status === 'rejected').map((one) => one.reason as ServiceError);
    expect(refused.filter(({ code }) => code !== 'computer_limit_reached')).toEqual([]);
    expect(refused).toHaveLength(40);
    expect((await slotsOf(caller.org)).sort()).toEqual([...made].sort());
    expect(await list()).toHaveLength(10);
    await testAgent.ask('stop', made[0]!);
    await expect(create()).rejects.toMatchObject({ code: 'computer_limit_reached', status: 429 });
    await remove(made[0]!);
    const again = await Promise.allSettled([create(), create()]);
    expect(again.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('a creation that fails takes no place', async () => {
    await expect(create({ image: 'localhost:1/none' })).rejects.toMatchObject({ code: 'image_unavailable' });
    await expect(create({ cpu: 5 })).rejects.toMatchObject({ code: 'invalid_request', param: 'cpu' });
    expect(await slotsOf(caller.org)).toEqual([]);
    expect(await installation.computers.entries('*.org_test.>')).toEqual([]);
  });

  test('a creation whose caller goes away is taken back, free of charge', async () => {
    const gone = new AbortController();
    const seen = new Set((await installation.computers.entries('*.org_test.>')).map(({ key }) => key));
    const watch = await installation.computers.kv.watch({ key: '*.org_test.>' });
    const body = { cpu: 0.25, memory_mb: 512 };
    const asked = request(
      installation.bus,
      'computers.create',
      { ...caller, body, limited: false },
      { signal: gone.signal },
    );
    asked.catch(() => {});
    let id = '';
    for await (const { key, operation } of watch) {
      if (id === '' && operation === 'PUT' && !seen.has(key)) {
        id = key.split('.')[2]!;
        gone.abort(new Error('gone'));
      } else if (id !== '' && key.endsWith(id) && operation !== 'PUT') break; // its record went last
    }
    await expect(asked).rejects.toThrow('gone');
    await expect.poll(() => slotsOf(caller.org)).toEqual([]);
    expect(await list()).toEqual([]);
    expect(minutesOf(id)).toEqual([]);
  });

  test('places left behind by a crash are freed by the sweep, and at once when they are needed', async () => {
    const slots = await openBucket(installation.bus, 'computer-slots');
    const lost = Object.fromEntries(
      Array.from({ length: 10 }, () => [newId('computer'), new Date(clock.now()).toISOString()]),
    );
    await slots.put('org_swept', lost);
    await slots.put('org_full', lost);
    const full = { org: 'org_full', key_id: 'key_full' };
    await expect(create(undefined, full)).rejects.toMatchObject({ code: 'computer_limit_reached' });
    await testAgent.pass(60_001);
    // Control may hear the host's heartbeat after that a little later than the test does.
    const made = () => create({ cpu: 0.25, memory_mb: 512 }, full);
    const { id } = await vi.waitFor(made, { timeout: HEARD_MS_MAX });
    expect(await slotsOf('org_full')).toEqual([id]);
    await testAgent.pass(SWEEPS_MS.computers);
    await expect.poll(() => slotsOf('org_swept')).toEqual([]);
    expect(await slotsOf('org_full')).toEqual([id]);
    await remove(id, full);
  });
});

describe('placement', () => {
  /** Publishes the last heartbeat, changed. */
  const beat = async (change: Partial<HostHeartbeat>): Promise<void> => {
    const hosts = await openBucket(installation.bus, 'hosts');
    const own = (await hosts.get(testAgent.agent.hostId))!.value;
    const plain = {
      ...own,
      cordoned: false,
      image_ready: true,
      image_progress: null,
      refuses: null,
      cpu_used: 0,
    };
    await hosts.put(change.id ?? own.id, { ...plain, ...change });
  };
  /** Control's watch has the new heartbeat once creates answer so. */
  const eventually = (code: string, message: RegExp) =>
    expect
      .poll(
        () =>
          create().then(
            ({ id }) => remove(id),
            (error: unknown) => error,
          ),
        { timeout: HEARD_MS_MAX },
      )
      .toMatchObject({ code, message: expect.stringMatching(message) });

  test('without a host, without the image, or without room: 503 that says which', async () => {
    await beat({ cordoned: true });
    await eventually('no_capacity', /No computer host is connected/);
    await beat({ image_ready: false, image_progress: 'building: step 7 of 19' });
    await eventually('no_capacity', /step 7 of 19/);
    await beat({ refuses: 'its firewall is missing' });
    await eventually('no_capacity', /its firewall is missing/);
    await beat({ cpu_used: 1_000 });
    await eventually('no_capacity', /full/);
    expect(await slotsOf(caller.org)).toEqual([]);
  });

  test('a host that refuses keeps nothing, and the next is tried', async () => {
    const small = await openTestAgent(installation, { clock, env: { SWITCHYARD_CPU_OVERCOMMIT: '0.1' } });
    try {
      // Its heartbeat says that it has room and nothing to do; its own count decides.
      await beat({ id: small.agent.hostId, cpu_total: 1_000, memory_mb_used: 0 });
      await beat({ cpu_used: 1 });
      const made = [];
      for (let n = 0; n < 4; n++) made.push((await create()).id);
      for (const id of made)
        expect((await installation.placements.get(placementKey(caller.org, id)))?.value.host).toBe(
          testAgent.agent.hostId,
        );
      expect(small.agent.computers.all()).toEqual([]);
    } finally {
      await small.close();
    }
  });

  test('a host whose disk is nearly full refuses new computers; others run on, and freed space counts', async () => {
    const disk = await smallDisk(192);
    const env = { SWITCHYARD_HOST_DISK_GB_FREE_MIN: '0.0625' };
    await cp(await installation.newDataFolder(), `${disk.path}/data`, { recursive: true });
    const small = await openTestAgent(installation, { clock, env, dataFolder: `${disk.path}/data` });
    try {
      await beat({ cordoned: true });
      const { id } = await small.create();
      await writeFile(`${disk.path}/others`, Buffer.alloc(128 * 1024 * 1024));
      await small.agent.heartbeat.beat();
      await eventually('no_capacity', /SWITCHYARD_HOST_DISK_GB_FREE_MIN/);
      await expect(small.create()).rejects.toMatchObject({
        code: 'no_capacity',
        message: expect.stringContaining('nearly full'),
      });
      expect(await small.exec(id, 'echo on')).toMatchObject({ stdout: 'on\n' });
      await small.ask('stop', id);
      expect(await small.ask('start', id)).toMatchObject({ status: 'running' });

      await rm(`${disk.path}/others`);
      await small.agent.heartbeat.beat();
      const created = () => create().then(({ status }) => status, String);
      await expect.poll(created).toBe('running');
      for (const made of await list()) await remove(made.id);
    } finally {
      await small.close();
      await disk.remove();
    }
  });

  test('an operator cordons, drains and frees a host by npm run hosts', async () => {
    const host = testAgent.agent.hostId;
    const order = (...words: string[]) => hostsCommand(installation.bus, words, () => clock.now());
    const { id } = await create();
    expect(await order('cordon', host)).toContain(host);
    await testAgent.agent.heartbeat.beat();
    expect(await order()).toMatch(new RegExp(`${host} +cordon +1 running`));
    await eventually('no_capacity', /No computer host is connected/);
    // A request sent to the host itself, by an older heartbeat, is refused there.
    await expect(testAgent.create()).rejects.toMatchObject({ code: 'no_capacity' });
    await testAgent.ask('stop', id);
    expect(await testAgent.ask('start', id)).toMatchObject({ status: 'running' });

    await order('drain', host);
    await testAgent.agent.heartbeat.beat();
    await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
    expect(await get(id)).toMatchObject({ status: 'stopped', stop_reason: 'host_lost' });
    await expect(testAgent.ask('start', id)).rejects.toMatchObject({ code: 'no_capacity' });
    await testAgent.agent.heartbeat.beat();
    expect(await order()).toMatch(/drain +0 running/);

    await order('uncordon', host);
    await testAgent.agent.heartbeat.beat();
    expect(await testAgent.ask('start', id)).toMatchObject({ status: 'running' });
    const created = () => create().then(({ status }) => status, String);
    await expect.poll(created).toBe('running');
    await expect(order('cordon', 'host_nobody')).rejects.toThrow('host host_nobody is unknown');
    const hosts = await openBucket(installation.bus, 'hosts');
    await hosts.put('host_newer', { of: 'another release' } as unknown as HostHeartbeat);
    expect(await order('cordon', 'host_newer')).toContain('host_newer: takes no new computers');
    expect(await order()).toContain(host);
    await hosts.delete('host_newer');
    await order('uncordon', 'host_newer');
    await expect(order('cordon')).rejects.toThrow('usage');
    await expect(order('paint', host)).rejects.toThrow('usage');
  });

  test('a host that does not answer: 503, and the place is free again', async () => {
    const ghost = newId('host');
    await beat({ cordoned: true });
    await beat({ id: ghost });
    await eventually('service_unavailable', /./);
    expect(await slotsOf(caller.org)).toEqual([]);
    expect(await list()).toEqual([]);
    await beat({ id: ghost, cordoned: true });
    for (const { key } of await installation.computers.entries('*.org_test.>'))
      await installation.computers.delete(key);
  });

  test('computers switched off: every operation says so', async () => {
    const bus = await connectBus({ url: installation.natsUrl, service: 'control', logger });
    const { computerHandlers } = await import('../services/control/src/operations/computers.ts');
    const offReason = 'computers are switched off here';
    const [deps, files] = [{ offReason }, {}] as unknown as Parameters<typeof computerHandlers>;
    const answer = computerHandlers(deps, files)['computers.options']({});
    await expect(answer).rejects.toMatchObject({ code: 'no_capacity', message: offReason });
    await bus.close();
  });
});

describe('a lost host', () => {
  test('its computers are unreachable, can be deleted, and are charged to their last minute; it clears up when back', async () => {
    const dataFolder = await installation.newDataFolder();
    const doomed = await startAgentProcess(installation, { dataFolder, now: clock.now() });
    await testAgent.agent.heartbeat.beat();
    const record: ComputerRecord = newTestRecord(doomed.hostId, defaultLimits(), {
      created_at: new Date(clock.now()).toISOString(),
    });
    const { id } = await doomed.host.create(record);
    const kept = await doomed.host.create();
    await doomed.pass(70_000);
    await doomed.kill();
    const { container } = (await doomed.host.record(id))!;
    expect((await get(id)).status).toBe('running');
    await testAgent.pass(70_000 + 60_001);
    expect(await get(id)).toMatchObject({ status: 'unreachable', minutes: 1, stops_at: null });
    expect(await remove(id)).toMatchObject({ deleted: true });
    await expect(get(id)).rejects.toMatchObject({ code: 'computer_not_found' });
    await installation.events.until('deleted', (event) => event.id === `${id}:1:deleted`);
    await expect.poll(() => minutesOf(id)).toEqual([`${id}:1:0`, `${id}:1:1`]);

    const back = await openTestAgent(installation, { dataFolder, clock: new FakeClock(clock.now()) });
    try {
      expect(await back.record(id)).toBeNull();
      const left = (await back.docker.listContainers({ all: true })).map(({ Id }) => Id);
      expect(left).not.toContain(container);
      expect(minutesOf(id)).toHaveLength(2);
      await expect.poll(async () => (await get(kept.id)).status).toBe('running');
    } finally {
      await back.close();
    }
  });
});
