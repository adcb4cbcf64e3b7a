import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeLogger } from '@switchyard/service';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Disks } from './disks.ts';
import { openTrash } from './trash.ts';
import { openWorkspaces } from './workspaces.ts';

const run = promisify(execFile);
const logger = makeLogger('test', 'silent');
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'workspaces-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test('directories nested deeper than any path can name are deleted', async () => {
  const workspaces = await openWorkspaces(directory, { logger });
  await workspaces.create('cmp_deep');
  const nest = 'import os\nfor _ in range(100):\n  os.mkdir("x" * 200); os.chdir("x" * 200)';
  await run('python3', ['-c', nest], { cwd: workspaces.path('cmp_deep') });
  await workspaces.delete('cmp_deep');
  expect(await workspaces.exists('cmp_deep')).toBe(false);
  await expect.poll(() => readdir(join(directory, 'trash'))).toEqual([]);
});

/** Creates nested folders in it. */
async function nest(folder: string, levels: number, name: string): Promise<void> {
  const program = 'for (1..$ARGV[0]) { mkdir $ARGV[1] or die $!; chdir $ARGV[1] or die $! }';
  await run('perl', ['-e', program, String(levels), name], { cwd: folder });
}

/** When it has missed the program. */
const STOPPED_MS_MAX = 120_000;

/** Process ids of each `rm` that removes something of this test. */
async function removers(): Promise<number[]> {
  const { stdout } = await run('pgrep', ['-f', `^rm .*${directory}`]).catch(() => ({ stdout: '' })); // none
  return stdout.trim().split('\n').filter(Boolean).map(Number);
}

test('one is removed at a time, by a program of bounded memory, and no deletion waits for it', async () => {
  const workspaces = await openWorkspaces(directory, { logger });
  for (const id of ['cmp_a', 'cmp_b', 'cmp_c']) await workspaces.create(id);
  await nest(workspaces.path('cmp_a'), 20_000, 'd'); // takes `rm` a moment
  // A program of its own, which a pause of this process does not delay.
  const stopRemover = `until pkill -STOP -f '^rm .*${directory}'; do :; done`;
  const stopping = run('sh', ['-c', stopRemover], { signal: AbortSignal.timeout(STOPPED_MS_MAX) });
  await workspaces.delete('cmp_a');
  await stopping;
  const [first] = await removers();
  for (const id of ['cmp_b', 'cmp_c']) await workspaces.delete(id);
  expect(await readdir(join(directory, 'files'))).toEqual([]);
  expect(await removers()).toEqual([first]);
  expect(await readFile(`/proc/${first}/limits`, 'utf8')).toMatch(/Max address space +134217728 /);
  expect(await readdir(join(directory, 'trash'))).toHaveLength(3);
  process.kill(first!, 'SIGCONT');
  await expect.poll(() => readdir(join(directory, 'trash'))).toEqual([]);
});

test('folders nested too deep for the memory of `rm` are deleted all the same', async () => {
  const warn = vi.spyOn(logger, 'warn');
  const trash = await openTrash(join(directory, 'trash'), { logger, memoryBytesMax: 8 * 1024 * 1024 });
  const outside = join(directory, 'outside');
  await writeFile(outside, '');
  const doomed = join(directory, 'doomed');
  await mkdir(doomed);
  for (const name of ['a', 'b'])
    await writeFile(Buffer.concat([Buffer.from(`${doomed}/${name}: `), Buffer.of(0xff)]), ''); // not UTF-8
  await symlink(outside, join(doomed, 'link'));
  await mkdir(join(doomed, 'full/of'), { recursive: true });
  await nest(doomed, 10_000, 'd'.repeat(255));
  await trash.take(doomed);
  await expect.poll(() => readdir(join(directory, 'trash'))).toEqual([]);
  expect(warn).not.toHaveBeenCalled();
  expect(await readdir(directory)).toEqual(['outside', 'trash']);
});

test('creating an existing one keeps its files; deleting a missing one is no error', async () => {
  const workspaces = await openWorkspaces(directory, { logger });
  await workspaces.create('cmp_a');
  await writeFile(join(workspaces.path('cmp_a'), 'file'), 'kept');
  await workspaces.create('cmp_a');
  expect(await readdir(workspaces.path('cmp_a'))).toEqual(['file']);
  await workspaces.delete('cmp_a');
  await workspaces.delete('cmp_a');
});

test('a deletion that was cut short is finished by the next agent', async () => {
  await openWorkspaces(directory, { logger });
  await writeFile(join(directory, 'trash', 'cmp_a.1'), 'left');
  await openWorkspaces(directory, { logger });
  await expect.poll(() => readdir(join(directory, 'trash'))).toEqual([]);
});

test('a folder for uploads that could not be opened once is opened by the next caller', async () => {
  const incoming = join(directory, 'disk', 'incoming');
  const disks = { has: () => true, incoming: () => incoming } as Partial<Disks> as Disks;
  const workspaces = await openWorkspaces(directory, { logger, disks });
  await writeFile(join(directory, 'disk'), 'where a folder belongs');
  await expect(workspaces.staging('cmp_a')).rejects.toMatchObject({ code: 'ENOTDIR' });
  await rm(join(directory, 'disk'));
  await workspaces.staging('cmp_a');
  expect(await readdir(incoming)).toEqual([]);
});
