import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openWorkspaces } from './workspaces.ts';

const run = promisify(execFile);
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'workspaces-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test('directories nested deeper than any path can name are deleted', async () => {
  const workspaces = await openWorkspaces(directory);
  await workspaces.create('cmp_deep');
  const nest = 'import os\nfor _ in range(100):\n  os.mkdir("x" * 200); os.chdir("x" * 200)';
  await run('python3', ['-c', nest], { cwd: workspaces.path('cmp_deep') });
  await workspaces.delete('cmp_deep');
  expect(await workspaces.exists('cmp_deep')).toBe(false);
  expect(await readdir(join(directory, 'trash'))).toEqual([]);
});

test('making one that is there keeps its files; deleting one that is gone is no error', async () => {
  const workspaces = await openWorkspaces(directory);
  await workspaces.create('cmp_a');
  await writeFile(join(workspaces.path('cmp_a'), 'file'), 'kept');
  await workspaces.create('cmp_a');
  expect(await readdir(workspaces.path('cmp_a'))).toEqual(['file']);
  await workspaces.delete('cmp_a');
  await workspaces.delete('cmp_a');
});

test('a deletion that was cut short is finished by the next agent', async () => {
  await openWorkspaces(directory);
  await writeFile(join(directory, 'trash', 'cmp_a.1'), 'left');
  await openWorkspaces(directory);
  await expect.poll(() => readdir(join(directory, 'trash'))).toEqual([]);
});
