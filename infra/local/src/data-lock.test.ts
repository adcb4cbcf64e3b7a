import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { lockDataFolder } from './data-lock.ts';

test('a second launcher on the same folder is refused with the process id of the first', async () => {
  const folder = await temporaryFolder();
  const lock = await lockDataFolder(folder);
  await expect(lockDataFolder(folder)).rejects.toThrow(`process ${process.pid}`);
  lock.release();
  const again = await lockDataFolder(folder);
  again.release();
});

test('a data folder that is a file is named, with what to do', async () => {
  const file = join(await temporaryFolder(), 'data');
  await writeFile(file, '');
  await expect(lockDataFolder(file)).rejects.toMatchObject({
    name: 'SetupError',
    message: expect.stringContaining(`The data folder ${file} cannot be used: EEXIST`),
    fix: expect.stringContaining('SWITCHYARD_DATA'),
  });
});

test.runIf(process.platform === 'linux')('a data folder where none can be made is named', async () => {
  await expect(lockDataFolder('/proc/switchyard/data')).rejects.toMatchObject({
    name: 'SetupError',
    message: expect.stringContaining('cannot be used: ENOENT'),
  });
});

test('the lock of a killed launcher is free, and only one of several launchers takes it', async () => {
  const folder = await temporaryFolder();
  const module = JSON.stringify(join(import.meta.dirname, 'data-lock.ts'));
  const program = `const { lockDataFolder } = await import(${module});
    await lockDataFolder(process.argv[1]);
    console.log('locked');
    setInterval(() => {}, 1_000);`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', program, folder]);
  onTestFinished(() => void other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  await expect(lockDataFolder(folder)).rejects.toThrow(`process ${other.pid}`);
  other.kill('SIGKILL');
  await once(other, 'exit');
  const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataFolder(folder)));
  const locks = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(locks).toHaveLength(1);
  locks[0]?.release();
});
