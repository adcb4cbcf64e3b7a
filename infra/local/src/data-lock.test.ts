import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { lockDataFolder } from './data-lock.ts';

test('a second launcher on the same folder is refused with the process id of the first', async () => {
  const folder = await temporaryFolder();
  const lock = await lockDataFolder(folder);
  await expect(lockDataFolder(folder)).rejects.toThrow(`process ${process.pid}`);
  await lock.release();
  const again = await lockDataFolder(folder);
  await again.release();
  expect(await readdir(folder)).toEqual([]);
});

test('the lock of a launcher that was killed is taken over, also when its number is in use again', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'lock'), `${process.pid} another-boot/1\n`);
  const lock = await lockDataFolder(folder);
  await expect(lockDataFolder(folder)).rejects.toThrow('Another Switchyard');
  await lock.release();
});
