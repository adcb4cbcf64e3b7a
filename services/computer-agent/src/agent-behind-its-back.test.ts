// Other programs change containers, mounts or records of computers: the agent notices, logs it, and repairs what it
// can.
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { constants } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { deleteComputer } from './lifecycle/transitions.ts';
import {
  diskOf,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const run = promisify(execFile);

let installation: TestInstallation;
let on: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
  on = await openTestAgent(installation);
}, SETUP_TIMEOUT_MS);
afterAll(async () => {
  await on?.close();
  await installation?.stop();
});
afterEach(async () => {
  for (const computer of on.agent.computers.all()) await deleteComputer(computer);
});

/** Events of a computer in the stream: its changes and its minutes, each with its run. */
const told = (id: string) =>
  installation.events.all
    .filter(({ data }) => 'computer_id' in data && data.computer_id === id)
    .map((event) => event.id.slice(id.length + 1));

const containerOf = async (id: string) => on.docker.getContainer((await on.record(id))!.container!);
const unmount = (path: string) => run('umount', ['--lazy', path]);

/** Mount point of the only computer's files on the host. */
async function slotPath(): Promise<string> {
  const slots = `${on.dataFolder}/hosts/computer-agent/computers/slots`;
  const [slot, ...others] = await readdir(slots);
  expect(others).toEqual([]);
  return `${slots}/${slot}`;
}

test.each(['killed', 'removed'] as const)(
  'a container that is %s: the computer stops, billed to that moment, and its commands end with an error',
  async (fate) => {
    const { id } = await on.create();
    const running = on.exec(id, 'touch begun; exec sleep 1000');
    running.catch(() => {}); // awaited below
    await expect.poll(() => on.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    await on.pass(61_000);
    const container = await containerOf(id);
    await (fate === 'killed' ? container.kill() : container.remove({ force: true }));
    const record = await on.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record).toMatchObject({ stop_reason: 'exited', minutes: 2, container: null });
    await expect(running).rejects.toMatchObject({ code: 'computer_not_running' });
    await on.pass(300_000);
    await installation.events.until('stopped', (event) => event.id === `${id}:1:stopped`);
    expect(told(id)).toEqual(['1:created', '1:0', '1:1', '1:stopped']);
    await expect(container.inspect()).rejects.toMatchObject({ statusCode: 404 });
  },
);

test('a container that is paused: its computer stops in the next round and may be started again', async () => {
  const { id } = await on.create();
  await on.exec(id, 'echo kept > file');
  const running = on.exec(id, 'touch begun; exec sleep 1000');
  await expect.poll(() => on.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
  await (await containerOf(id)).pause();
  await on.agent.reconciler.reconcile();
  expect(await on.record(id)).toMatchObject({ state: 'stopped', stop_reason: 'exited', minutes: 1 });
  expect(await running).toMatchObject({ exit_code: 128 + constants.signals.SIGTERM }); // the engine lets it go on to end
  await on.ask('start', id);
  expect((await on.exec(id, 'cat file')).stdout).toBe('kept\n');
});

test('files of which the mounts are taken away while the computer runs: they are back with the next look', async () => {
  const { id } = await on.create();
  await on.exec(id, 'echo kept > file');
  const { files } = await diskOf(on.dataFolder, id);
  await unmount(await slotPath());
  await unmount(files.slice(0, -'/files'.length));
  expect((await on.exec(id, 'cat file')).exit_code).toBe(1);
  await on.exec(id, 'echo astray > written-meanwhile');
  await on.agent.reconciler.reconcile();
  expect((await on.exec(id, 'cat file; echo more > later')).stdout).toBe('kept\n');
  await on.ask('stop', id);
  await on.ask('start', id);
  expect((await on.exec(id, 'cat file later; ls written-meanwhile')).stdout).toContain('kept\nmore\n');
});

test('a disk that is unmounted while its computer is stopped: the next start mounts it', async () => {
  const { id } = await on.create();
  await on.exec(id, 'echo kept > file');
  await on.ask('stop', id);
  const { files } = await diskOf(on.dataFolder, id);
  await unmount(files.slice(0, -'/files'.length));
  await on.ask('start', id);
  expect((await on.exec(id, 'cat file')).stdout).toBe('kept\n');
});
