// Disks of computers, on the real Docker engine: what is written inside fills that disk and nothing else.
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { IMAGE } from '@switchyard/sandbox-computer';
import { makeLogger } from '@switchyard/service';
import { temporaryFolder } from '@switchyard/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { mountCommand, sourceOfMount } from '../docker/mounts.ts';
import type { ComputerHost } from './computer-host.ts';
import type { Container } from './container.ts';
import { mountDisk } from './disk-image.ts';
import { openDisks } from './disks.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';
import { workspacePath } from './workspace-path.ts';

const MIB = 1024 ** 2;
const size = { cpu: 1, memoryMb: 1024 };
/** 64 MiB: full in a moment. */
const SMALL_GB = 1 / 16;

let testHost: TestHost;
afterEach(() => testHost?.close(), SETUP_TIMEOUT_MS);
vi.setConfig({ testTimeout: 180_000 }); // several starts and stops each

const start = async (host: ComputerHost, computerId: string): Promise<Container> =>
  (await host.reserve({ computerId, image: IMAGE, ...size })).start();
const output = async (computer: Container, command: string) =>
  (await run(computer, command)).output.toString();
const mountsUnder = async (folder: string) =>
  (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(folder));
const diskFolder = () => join(testHost.options.dataDirectory, 'disks');
/** Where the disk of a computer is mounted when it is. */
const mountOf = async (id: string) =>
  join(diskFolder(), 'mounts', await readlink(join(diskFolder(), 'computers', id)));
/** Then the disk that is mounted there cannot be removed at the first attempt. */
const mountOver = (at: string) => mountCommand('mount', '-t', 'tmpfs', 'none', at);

test('a disk that cannot be made leaves nothing on the host', async () => {
  const directory = await temporaryFolder('disks');
  const tooSmall = 1e-6;
  const logger = makeLogger('test', 'silent');
  const disks = await openDisks({ directory, diskGb: tooSmall, spares: 0, logger });
  await expect(disks.create('cmp_refused')).rejects.toThrow(/mkfs/);
  expect(await readdir(join(directory, 'images'))).toEqual([]);
  await rm(directory, { recursive: true });
});

describe.each([
  ['out of the pool', 1],
  ['made when asked for', 0],
])('a computer %s', (_, warmPool) => {
  test(
    'has its paid disk: ENOSPC when bytes or inodes run out, while a neighbour writes on',
    async () => {
      testHost = await openTestHost({ warmPool, diskGb: SMALL_GB });
      await testHost.host.poolFilled();
      const { id, computer } = await testHost.createComputer();
      const neighbour = await testHost.createComputer();
      const device = await sourceOfMount(await mountOf(id));
      expect(await readFile(`/sys/block/${basename(device!)}/loop/dio`, 'utf8')).toBe('1\n');
      expect(Number(await output(computer, 'df -B1 --output=size /workspace | tail -1'))).toBeLessThan(
        64 * MIB,
      );
      const full = await run(computer, 'dd if=/dev/zero of=big bs=1M 2>&1');
      expect(full.exitCode).not.toBe(0);
      expect(full.output.toString()).toContain('No space left on device');
      for (const name of await readdir(join(diskFolder(), 'images'))) {
        const { blocks } = await stat(join(diskFolder(), 'images', name));
        expect(blocks * 512).toBeLessThanOrEqual(64 * MIB);
      }
      expect(await output(neighbour.computer, 'head -c 1000000 /dev/zero > mine && stat -c %s mine')).toBe(
        '1000000\n',
      );
      expect(await output(computer, 'rm big && echo again > file && cat file')).toBe('again\n');

      const bomb = 'i=0; while : > f$i; do i=$((i+1)); done 2>&1 | head -1; ls | wc -l';
      const bombed = await output(computer, bomb);
      expect(bombed).toContain('No space left on device');
      expect(await output(neighbour.computer, 'touch another && ls')).toBe('another\nmine\n');
    },
    SETUP_TIMEOUT_MS,
  );

  test('keeps its files over stops; its disk is mounted while it runs and deleted with it', async () => {
    testHost = await openTestHost({ warmPool, diskGb: SMALL_GB, diskIdleMs: 0 });
    const { host } = testHost;
    const { id, computer } = await testHost.createComputer();
    const at = await mountOf(id);
    expect(await output(computer, 'echo one >> file; ls -A')).toBe('file\n');
    await computer.stop();
    await expect.poll(() => mountsUnder(at)).toEqual([]);
    const again = await start(host, id); // at once, while what it wrote may still be on its way
    expect(await output(again, 'echo two >> file; cat file')).toBe('one\ntwo\n');
    expect(await mountsUnder(at)).toEqual([at]);
    await again.stop();
    await host.workspaces.delete(id);
    expect(await host.workspaces.exists(id)).toBe(false);
    expect(await mountsUnder(at)).toEqual([]);
    expect(await readdir(join(diskFolder(), 'computers'))).toEqual([]);
    await host.poolFilled();
    const left = await readdir(join(diskFolder(), 'mounts')); // those that wait
    expect(left.length).toBeLessThanOrEqual(1);
    expect(await readdir(join(diskFolder(), 'images'))).toEqual(left.map((disk) => `${disk}.ext4`));
  });
});

test.each([0, 60_000])(
  'stopped and started without a pause, unmounted after %i ms: nothing is lost',
  async (diskIdleMs) => {
    testHost = await openTestHost({ warmPool: 1, diskGb: SMALL_GB, diskIdleMs });
    const { id, computer } = await testHost.createComputer();
    let last = computer;
    for (let round = 1; round <= 3; round++) {
      expect(await output(last, `head -c 5000000 /dev/urandom > r${round}; ls | wc -l`)).toBe(`${round}\n`);
      await last.stop();
      last = await start(testHost.host, id);
    }
    expect(await output(last, 'stat -c %s r1 r3')).toBe('5000000\n5000000\n');
  },
);

test('a deletion that fails is completed when it is repeated', async () => {
  testHost = await openTestHost({ diskGb: SMALL_GB });
  const { id, computer } = await testHost.createComputer();
  const at = await mountOf(id);
  await computer.stop();
  await mountOver(at);
  await expect(testHost.host.workspaces.delete(id)).rejects.toThrow('EBUSY');
  await testHost.host.workspaces.delete(id);
  expect(await mountsUnder(at)).toEqual([]);
  expect(await readdir(join(diskFolder(), 'images'))).not.toContain(`${basename(at)}.ext4`);
});

test('a disk that a mount has mounted after its timeout is used', async () => {
  testHost = await openTestHost({ diskGb: SMALL_GB, diskIdleMs: 0 });
  const { id, computer } = await testHost.createComputer();
  await run(computer, 'echo kept > file');
  const at = await mountOf(id);
  await computer.stop();
  await expect.poll(() => readdir(join(diskFolder(), 'mounts'))).not.toContain(basename(at));
  await mountDisk(join(diskFolder(), 'images', `${basename(at)}.ext4`), at);
  expect(await output(await start(testHost.host, id), 'cat file')).toBe('kept\n');
});

test('an uploaded file is on the computer’s disk, and is refused when that is full', async () => {
  testHost = await openTestHost({ diskGb: SMALL_GB });
  const { workspaces } = testHost.host;
  const { id, computer } = await testHost.createComputer();
  const staging = await workspaces.staging(id);
  const bytes = Buffer.alloc(70 * MIB, 1);
  const expected = { bytes: bytes.length, sha256: '' };
  const source = async function* () {
    for (let at = 0; at < bytes.length; at += MIB) yield bytes.subarray(at, at + MIB);
  };
  await expect(staging.receive(source(), expected)).rejects.toMatchObject({
    code: 'computer_failed',
    message: expect.stringContaining('full'),
  });
  expect(await readdir(join(await mountOf(id), 'incoming'))).toEqual([]);
  const text = Buffer.from('content');
  const { createHash } = await import('node:crypto');
  const sha256 = createHash('sha256').update(text).digest('hex');
  const staged = await staging.receive(
    (async function* () {
      yield text;
    })(),
    { bytes: text.length, sha256 },
  );
  await workspaces.place(id, staged.path, workspacePath('a/b.txt', 'b.txt'));
  expect(await output(computer, 'cat a/b.txt; ls -A')).toBe('contenta\n');
});

test('a file for which the full disk has no new folder is refused', async () => {
  testHost = await openTestHost({ diskGb: SMALL_GB });
  const { workspaces } = testHost.host;
  const { id, computer } = await testHost.createComputer();
  const staging = await workspaces.staging(id);
  const staged = await staging.receive(Readable.from([]), { bytes: 0 });
  await run(computer, 'cat /dev/zero > big; sync; n=0; while mkdir $n; do n=$((n+1)); done');
  const placed = workspaces.place(id, staged.path, workspacePath('new/empty', 'empty'));
  await expect(placed).rejects.toMatchObject({
    code: 'computer_failed',
    message: expect.stringContaining('full'),
  });
  await staged.discard();
});

test('a computer that had a folder before keeps it', async () => {
  testHost = await openTestHost({ warmPool: 1, diskGb: SMALL_GB });
  const { host, options } = testHost;
  const id = 'cmp_before';
  const folder = join(options.dataDirectory, 'workspaces', 'files', id);
  await mkdir(folder);
  await writeFile(join(folder, 'file'), 'of before\n');
  await host.workspaces.create(id);
  expect(await host.workspaces.exists(id)).toBe(true);
  for (let times = 0; times < 2; times++) {
    const computer = await start(host, id);
    expect(await output(computer, 'cat file')).toBe('of before\n');
    await computer.stop();
  }
  await host.workspaces.delete(id);
  expect(await readdir(join(folder, '..'))).toEqual([]);
});

describe('an agent that starts', () => {
  test('finds running computers with their disks, and removes what an earlier agent left', async () => {
    testHost = await openTestHost({ warmPool: 2, diskGb: SMALL_GB });
    await testHost.host.poolFilled();
    const { id, computer } = await testHost.createComputer();
    await run(computer, 'echo kept > file');
    await testHost.host.poolFilled();
    const own = (await mountOf(id)).split('/').at(-1)!;
    const left = (await readdir(join(diskFolder(), 'images'))).filter((name) => !name.startsWith(own));
    expect(left).toHaveLength(2);
    await writeFile(join(diskFolder(), 'images', 'half-deleted.ext4'), '');
    await mountOver(join(diskFolder(), 'mounts', basename(left[0]!, '.ext4')));
    const next = await testHost.reopen();
    const found = await readdir(join(diskFolder(), 'images'));
    for (const name of [...left, 'half-deleted.ext4']) expect(found).not.toContain(name);
    expect(found).toContain(`${own}.ext4`);
    const again = await testHost.connect(computer, next);
    expect(await output(again, 'cat file')).toBe('kept\n');
    await again.stop();
    expect(await output(await start(next, id), 'cat file')).toBe('kept\n');
  });

  test('and ends before it takes computers over unmounts only the disks of stopped ones', async () => {
    testHost = await openTestHost({ diskGb: SMALL_GB });
    const running = await testHost.createComputer();
    const stopped = await testHost.createComputer();
    await run(running.computer, 'echo kept > file');
    await stopped.computer.stop();
    const at = await mountOf(running.id);
    await (await testHost.reopen()).close();
    expect(await mountsUnder(await mountOf(stopped.id))).toEqual([]);
    expect(await mountsUnder(at)).toEqual([at]);
    const again = await testHost.connect(running.computer, await testHost.reopen());
    expect(await output(again, 'cat file')).toBe('kept\n');
  });

  test('removes an earlier agent’s partial uploads from a running computer’s disk', async () => {
    testHost = await openTestHost({ diskGb: SMALL_GB });
    const { id, computer } = await testHost.createComputer();
    const incoming = join(await mountOf(id), 'incoming');
    await writeFile(join(incoming, 'left-by-a-dead-agent'), 'con');
    const next = await testHost.reopen();
    const again = await testHost.connect(computer, next);
    expect(await readdir(incoming)).toEqual([]);
    const staged = await (await next.workspaces.staging(id)).receive(Readable.from([Buffer.from('a')]), {});
    await again.remountWorkspace();
    expect(await readdir(incoming)).toEqual([basename(staged.path)]);
    await staged.discard();
  });

  test('mounts again what a reboot of the host unmounted', async () => {
    testHost = await openTestHost({ diskGb: SMALL_GB });
    const { id, computer } = await testHost.createComputer();
    await run(computer, 'echo kept > file; sync');
    const at = await mountOf(id);
    // The effects of a reboot: containers dead, nothing mounted.
    await testHost.options.docker.getContainer(computer.containerId).kill();
    for (const point of (await mountsUnder(testHost.options.dataDirectory)).reverse())
      await promisify(execFile)('umount', ['--lazy', point]);
    expect(await mountsUnder(at)).toEqual([]);
    const next = await testHost.reopen();
    expect(await output(await start(next, id), 'cat file')).toBe('kept\n');
  });
});

test('where mounts do not reach running containers, computers write into folders, and outlive their agent', async () => {
  const dataDirectory = await temporaryFolder('host');
  await writeFile(join(dataDirectory, 'mount-probe'), 'where a folder of the probe belongs');
  testHost = await openTestHost({ dataDirectory, disks: 'auto' });
  const { id, computer } = await testHost.createComputer();
  await run(computer, 'echo kept > file');
  expect(testHost.host.workspaces.path(id)).toMatch(/workspaces.files/);
  await testHost.host.close();
  const next = await testHost.reopen();
  expect(await output(await testHost.connect(computer, next), 'cat file')).toBe('kept\n');
});

test('a host that cannot mount when it is opened starts computers with disks once it can', async () => {
  testHost = await openTestHost({ disks: 'auto', diskGb: SMALL_GB, prepareRetryMs: 200 });
  const { id, computer } = await testHost.createComputer();
  await run(computer, 'echo kept > file');
  await computer.stop();
  await testHost.host.close();
  const slots = join(testHost.options.dataDirectory, 'slots');
  await rm(slots, { recursive: true });
  await writeFile(slots, 'where the folder of mount points belongs');
  const next = await testHost.reopen();
  await expect(start(next, id)).rejects.toThrow(/cannot mount/);
  await rm(slots);
  const file = async () => output(await start(next, id), 'cat file');
  await expect.poll(() => file().catch((error) => error.message)).toBe('kept\n');
});

test('without disks, computers write into folders, and it is said', async () => {
  const warnings: string[] = [];
  const logger = makeLogger('test', 'warn', { write: (line) => void warnings.push(line) });
  testHost = await openTestHost({ diskGb: 0, disks: 'auto', logger });
  const { id, computer } = await testHost.createComputer();
  await run(computer, 'echo plain > file');
  const folder = join(testHost.options.dataDirectory, 'workspaces', 'files', id);
  expect(await readFile(join(folder, 'file'), 'utf8')).toBe('plain\n');
  expect(warnings.join()).toContain('limits how much');
});
