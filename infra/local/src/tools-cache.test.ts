import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { makeOnce, toolsCacheFolder } from './tools-cache.ts';

test('the cache is in the user’s cache folder', () => {
  expect(toolsCacheFolder({ HOME: '/home/ada' })).toBe('/home/ada/.cache/switchyard');
  expect(toolsCacheFolder({ HOME: '/home/ada', XDG_CACHE_HOME: '/big/cache' })).toBe('/big/cache/switchyard');
});

test('a folder that exists is not made again', async () => {
  const cache = await temporaryFolder();
  const make = (words: string) =>
    makeOnce(join(cache, 'tool'), (into) => writeFile(join(into, 'words'), words));
  await make('first');
  await make('second');
  expect(await readFile(join(cache, 'tool', 'words'), 'utf8')).toBe('first');
});

test('a build that fails leaves nothing, so that the next one can succeed', async () => {
  const cache = await temporaryFolder();
  const broken = makeOnce(join(cache, 'tool'), async (into) => {
    await writeFile(join(into, 'half'), '');
    throw new Error('no space left');
  });
  await expect(broken).rejects.toThrow('no space left');
  expect(await readdir(cache)).toEqual([]);
});

test('concurrent builds leave one complete folder', async () => {
  const cache = await temporaryFolder();
  const build = () => makeOnce(join(cache, 'tool'), (into) => writeFile(join(into, 'words'), 'whole'));
  await Promise.all([build(), build(), build()]);
  expect(await readdir(cache)).toEqual(['tool']);
  expect(await readFile(join(cache, 'tool', 'words'), 'utf8')).toBe('whole');
});
