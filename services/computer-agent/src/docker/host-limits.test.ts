// The warning about kernel limits of the host, read from a folder in place of /proc/sys.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeLogger } from '@switchyard/service';
import { temporaryFolder } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { HOST_LIMITS, warnOfLowHostLimits } from './host-limits.ts';

/** @returns the path of a setting in a folder where every setting is high enough */
async function settings(): Promise<{ root: string; pathOf: (name: string) => string }> {
  const root = await temporaryFolder('host-limits');
  const pathOf = (name: string) => join(root, ...name.split('.'));
  for (const [name, needed] of Object.entries(HOST_LIMITS)) {
    await mkdir(dirname(pathOf(name)), { recursive: true });
    await writeFile(pathOf(name), `${needed}\n`);
  }
  return { root, pathOf };
}

async function warnings(root: string): Promise<object[]> {
  const logged: object[] = [];
  const logger = makeLogger('test', 'warn', { write: (line) => void logged.push(JSON.parse(line)) });
  await warnOfLowHostLimits(logger, root);
  return logged;
}

test('limits that are high enough give no warning', async () => {
  const { root, pathOf } = await settings();
  await writeFile(pathOf('fs.file-max'), '9223372036854775807\n');
  expect(await warnings(root)).toEqual([]);
});

test('low limits give one warning with the command that raises them, and are not written', async () => {
  const { root, pathOf } = await settings();
  await writeFile(pathOf('fs.inotify.max_user_instances'), '128\n');
  await writeFile(pathOf('kernel.pid_max'), '32768\n');
  const command = 'sysctl -w fs.inotify.max_user_instances=2147483647 kernel.pid_max=4194304';
  expect(await warnings(root)).toEqual([
    expect.objectContaining({
      settings: { 'fs.inotify.max_user_instances': 128, 'kernel.pid_max': 32_768 },
      command,
      msg: expect.stringContaining(command),
    }),
  ]);
  expect(await readFile(pathOf('kernel.pid_max'), 'utf8')).toBe('32768\n');
});

test('the deployment docs have the command', async () => {
  const docs = await readFile(new URL('../../../../docs/deployment.md', import.meta.url), 'utf8');
  for (const [name, needed] of Object.entries(HOST_LIMITS)) expect(docs).toContain(`${name}=${needed}`);
});
