import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import { quickenCgroupMoves } from './cgroup-moves.ts';
import { mountCommand, mounts } from './mounts.ts';

const OPTION = 'favordynmods';

const ofCgroups = async () => (await mounts()).filter(({ type }) => type === 'cgroup2');
/** Of the host's, one by one. */
const options = async () => new Set((await ofCgroups())[0]!.options.split(','));
const warnings: string[] = [];
const logger = { info: () => {}, warn: (_fields: object, message: string) => void warnings.push(message) };

beforeEach(() => {
  warnings.length = 0;
});

test('the kernel moves processes in the quick way, and keeps its other options', async () => {
  const others = await options();
  others.delete(OPTION);
  // As the host was before any agent; one of another test may set it again at any time.
  const before = `remount,${[...others].join(',')}`;
  await promisify(execFile)('mount', ['-t', 'cgroup2', '-o', before, 'none', (await ofCgroups())[0]!.point]);
  await quickenCgroupMoves(logger);
  expect(await options()).toEqual(new Set([...others, OPTION]));

  const again: string[][] = [];
  const counted = async (_program: string, ...words: string[]) => void again.push(words);
  await quickenCgroupMoves(logger, { mounts, mountCommand: counted });
  expect(again).toEqual([]);
  expect(warnings).toEqual([]);
});

test.each([
  ['no cgroup2 is mounted', async () => [], mountCommand],
  ['it is refused', withoutOption, () => Promise.reject(new Error('not permitted'))],
  ['it does nothing', withoutOption, () => Promise.resolve()],
])('where %s it is said, and the agent goes on', async (_, table, mount) => {
  await quickenCgroupMoves(logger, { mounts: table, mountCommand: mount });
  expect(warnings).toEqual(['commands wait for a moment whenever a computer starts on this host']);
});

async function withoutOption() {
  return (await ofCgroups()).map((one) => ({ ...one, options: 'rw,relatime' }));
}
