import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import { quickenCgroupMoves } from './cgroup-moves.ts';
import { mounts } from './mounts.ts';

const OPTION = 'favordynmods';

const hierarchy = async () => {
  const { point, options } = (await mounts()).find(({ type }) => type === 'cgroup2')!;
  return { point, options: [...new Set(options.split(','))].toSorted() };
};
const warnings: string[] = [];
const logger = { info: () => {}, warn: (_fields: object, message: string) => void warnings.push(message) };

/** As the host was before any agent. */
beforeEach(async () => {
  warnings.length = 0;
  const { point, options } = await hierarchy();
  const others = options.filter((option) => option !== OPTION).join(',');
  await promisify(execFile)('mount', ['-t', 'cgroup2', '-o', `remount,${others}`, 'none', point]);
  expect((await hierarchy()).options).not.toContain(OPTION);
});

test('the kernel moves processes in the quick way, and keeps its other options', async () => {
  const before = (await hierarchy()).options;
  await quickenCgroupMoves(logger);
  expect((await hierarchy()).options).toEqual([...before, OPTION].toSorted());

  const again: string[][] = [];
  await quickenCgroupMoves(logger, async (_program, ...options) => void again.push(options));
  expect(again).toEqual([]);
  expect(warnings).toEqual([]);
});

test.each([
  ['is refused', () => Promise.reject(new Error('not permitted'))],
  ['does nothing', () => Promise.resolve()],
])('where the option %s it is said, and the agent goes on', async (_, mount) => {
  await quickenCgroupMoves(logger, mount);
  expect(warnings).toEqual(['commands wait for a moment whenever a computer starts on this host']);
});
