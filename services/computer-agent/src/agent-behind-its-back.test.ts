// Other programs change containers, mounts or records of computers: the agent notices, logs it, and repairs what it
// can.
import { execFile } from 'node:child_process';
import { access, readdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { promisify } from 'node:util';
import { recordKey } from '@switchyard/contracts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openHeldEngine } from './__fixtures__/held-engine.ts';
import { CREATION_ARRIVES_MS_MAX } from './lifecycle/reconcile.ts';
import { ORPHAN_GRACE_MS } from './lifecycle/reconciler.ts';
import { deleteComputer } from './lifecycle/transitions.ts';
import {
  defaultLimits,
  diskOf,
  newTestRecord,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const run = promisify(execFile);

let installation: TestInstallation;
let testAgent: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
  testAgent = await openTestAgent(installation);
}, SETUP_TIMEOUT_MS);
afterAll(async () => {
  await testAgent?.close();
  await installation?.stop();
});
afterEach(async () => {
  for (const computer of testAgent.agent.computers.all()) await deleteComputer(computer);
});

/** Events of a computer in the stream: its changes and its minutes, each with its run. */
const published = (id: string) =>
  installation.events.all
    .filter(({ data }) => 'computer_id' in data && data.computer_id === id)
    .map((event) => event.id.slice(id.length + 1));

const containerOf = async (id: string) =>
  testAgent.docker.getContainer((await testAgent.record(id))!.container!);
const unmount = (path: string) => run('umount', ['--lazy', path]);

/** Mount point of the only computer's files on the host. */
async function slotPath(): Promise<string> {
  const slots = `${testAgent.dataFolder}/hosts/computer-agent/computers/slots`;
  const [slot, ...others] = await readdir(slots);
  expect(others).toEqual([]);
  return `${slots}/${slot}`;
}

test.each(['killed', 'removed'] as const)(
  'a container that is %s: the computer stops, billed to that moment, and its commands end with an error',
  async (fate) => {
    const { id } = await testAgent.create();
    const running = testAgent.exec(id, 'touch begun; exec sleep 1000');
    running.catch(() => {}); // awaited below
    await expect.poll(() => testAgent.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    await testAgent.pass(61_000);
    const container = await containerOf(id);
    await (fate === 'killed' ? container.kill() : container.remove({ force: true }));
    const record = await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record).toMatchObject({ stop_reason: 'exited', minutes: 2, container: null });
    await expect(running).rejects.toMatchObject({ code: 'computer_not_running' });
    await testAgent.pass(300_000);
    await installation.events.until('stopped', (event) => event.id === `${id}:1:stopped`);
    expect(published(id)).toEqual(['1:created', '1:0', '1:1', '1:stopped']);
    await expect(container.inspect()).rejects.toMatchObject({ statusCode: 404 });
  },
);

test('a paused container: its computer stops in the next round and may be started again', async () => {
  const { id } = await testAgent.create();
  await testAgent.exec(id, 'echo kept > file');
  const running = testAgent.exec(id, 'touch begun; exec sleep 1000');
  running.catch(() => {}); // awaited below
  await expect.poll(() => testAgent.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
  await (await containerOf(id)).pause();
  await testAgent.agent.reconciler.reconcile();
  expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', stop_reason: 'exited', minutes: 1 });
  expect(await running).toMatchObject({ exit_code: 128 + constants.signals.SIGTERM }); // resumed by the engine to end
  await testAgent.ask('start', id);
  expect((await testAgent.exec(id, 'cat file')).stdout).toBe('kept\n');
});

test('files whose mounts are removed while the computer runs: mounted again in the next round', async () => {
  const { id } = await testAgent.create();
  await testAgent.exec(id, 'echo kept > file');
  const { files } = await diskOf(testAgent.dataFolder, id);
  await unmount(await slotPath());
  await unmount(files.slice(0, -'/files'.length));
  expect((await testAgent.exec(id, 'cat file')).exit_code).toBe(1);
  await testAgent.exec(id, 'echo astray > written-meanwhile');
  await testAgent.agent.reconciler.reconcile();
  expect((await testAgent.exec(id, 'cat file; echo more > later')).stdout).toBe('kept\n');
  await testAgent.ask('stop', id);
  await testAgent.ask('start', id);
  expect((await testAgent.exec(id, 'cat file later; ls written-meanwhile')).stdout).toContain('kept\nmore\n');
});

test('mounts over the files of a computer that stops: its slot and its system disk are removed in the next round', async () => {
  const { id } = await testAgent.create();
  const slot = await slotPath();
  // More mounts than one removal unmounts.
  for (let mounts = 0; mounts < 9; mounts++) await run('mount', ['-t', 'tmpfs', 'none', slot]);
  await testAgent.ask('stop', id);
  const left = async () => {
    const folder = `${testAgent.dataFolder}/hosts/computer-agent/computers`;
    return (await Promise.all(['slots', 'system/images'].map((name) => readdir(`${folder}/${name}`)))).flat();
  };
  expect(await left()).toHaveLength(2);
  await testAgent.agent.reconciler.reconcile();
  await expect.poll(left).toEqual([]);
});

test('a disk that is unmounted while its computer is stopped: the next start mounts it', async () => {
  const { id } = await testAgent.create();
  await testAgent.exec(id, 'echo kept > file');
  await testAgent.ask('stop', id);
  const { files } = await diskOf(testAgent.dataFolder, id);
  await unmount(files.slice(0, -'/files'.length));
  await testAgent.ask('start', id);
  expect((await testAgent.exec(id, 'cat file')).stdout).toBe('kept\n');
});

test('a container that ends while the engine answers late: its computer is billed to that moment', async () => {
  const engine = await openHeldEngine();
  const late = await openTestAgent(installation, { docker: engine.docker });
  try {
    const { id } = await late.create();
    await late.pass(50_000);
    const { container } = (await late.record(id))!;
    const asked = engine.hold(new RegExp(`GET .*/${container}/json`));
    await testAgent.docker.getContainer(container!).kill();
    await asked; // how it ended
    late.clock.advance(20_000);
    engine.release();
    const stopped = await late.recordWhen(id, ({ state }) => state === 'stopped');
    expect(stopped).toMatchObject({ stop_reason: 'exited', minutes: 1 });
  } finally {
    engine.release();
    await late.close();
    await engine.close();
  }
});

test.each(['stays', 'is deleted by control'] as const)(
  'a failed creation whose disk cannot be removed and whose record %s: the caller gets the reason, a later round removes the disk',
  async (fate) => {
    const engine = await openHeldEngine();
    const late = await openTestAgent(installation, { docker: engine.docker });
    const record = newTestRecord(late.agent.hostId, defaultLimits());
    const { id } = record;
    const creating = /^POST .*\/containers\/create/;
    try {
      const asked = engine.hold(creating);
      const created = late.create({ id });
      created.catch(() => {}); // awaited below
      await asked;
      const { files, image } = await diskOf(late.dataFolder, id);
      await run('mount', ['-t', 'tmpfs', 'none', files.slice(0, -'/files'.length)]);
      engine.release();
      engine.fail(creating);
      await expect(created).rejects.toMatchObject({ code: 'computer_failed' });
      if (fate === 'is deleted by control') await installation.computers.delete(recordKey(record));
      late.clock.advance(CREATION_ARRIVES_MS_MAX);
      await late.agent.reconciler.reconcile();
      expect(await late.record(id)).toBeNull();
      await expect(access(image)).rejects.toMatchObject({ code: 'ENOENT' });
    } finally {
      engine.release();
      await late.close();
      await engine.close();
    }
  },
);

test('a container that takes longer to make than the grace period of containers without a record: it is kept', async () => {
  const engine = await openHeldEngine();
  const late = await openTestAgent(installation, { docker: engine.docker });
  try {
    const asked = engine.hold(/^GET .*\/containers\/[0-9a-f]{64}\/json/);
    const created = late.create();
    created.catch(() => {}); // awaited below
    await asked; // the container exists, and its disk is not mounted yet
    await late.agent.reconciler.reconcile();
    late.clock.advance(ORPHAN_GRACE_MS);
    const round = late.agent.reconciler.reconcile();
    engine.release();
    await round;
    expect(await created).toMatchObject({ status: 'running' });
  } finally {
    engine.release();
    await late.close();
    await engine.close();
  }
});

test('a record that is deleted during a start, while the engine fails: the container is removed when it works again', async () => {
  const engine = await openHeldEngine();
  const late = await openTestAgent(installation, { docker: engine.docker });
  try {
    const { id } = await late.create();
    await late.ask('stop', id);
    const asked = engine.hold(/^POST .*\/containers\/\w+\/start/);
    const started = late.ask('start', id);
    started.catch(() => {}); // awaited below
    await asked;
    const record = (await late.record(id))!;
    await installation.computers.delete(recordKey(record));
    engine.release();
    engine.fail(/^(POST .*\/wait|DELETE )/);
    await expect(started).rejects.toMatchObject({ code: 'computer_failed' });
    engine.release();
    await late.agent.reconciler.reconcile();
    expect(late.agent.computers.all()).toEqual([]);
    await expect(testAgent.docker.getContainer(record.container!).inspect()).rejects.toThrow('404');
  } finally {
    engine.release();
    await late.close();
    await engine.close();
  }
});
