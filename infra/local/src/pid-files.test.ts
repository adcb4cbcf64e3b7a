import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createPidFiles } from './pid-files.ts';

async function startProcess(script: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', `${script}; setInterval(() => {}, 1000); console.log('up')`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  return child;
}

test('the file holds the number, as `kill $(cat …)` wants it', async () => {
  const folder = await temporaryFolder();
  const child = await startProcess('');
  await createPidFiles(folder).write('edge', child.pid!);
  expect(await readFile(join(folder, 'edge.pid'), 'utf8')).toBe(`${child.pid}\n`);
});

test('processes of an earlier start are ended, the named ones last, and their files are removed', async () => {
  const folder = await temporaryFolder();
  const pidFiles = createPidFiles(folder);
  // The processes write the order themselves: this process may see two exits at once, in any order.
  const order = join(await temporaryFolder(), 'order');
  const ends: Promise<unknown>[] = [];
  for (const name of ['nats', 'edge']) {
    const note = `require('node:fs').appendFileSync(${JSON.stringify(order)}, '${name} SIGTERM\\n')`;
    const child = await startProcess(`process.on('SIGTERM', () => { ${note}; process.exit(0); })`);
    ends.push(once(child, 'exit'));
    await pidFiles.write(name, child.pid!);
  }
  expect((await pidFiles.endLeftovers(['nats'])).sort()).toEqual(['edge', 'nats']);
  await Promise.all(ends);
  expect(await readFile(order, 'utf8')).toBe('edge SIGTERM\nnats SIGTERM\n');
  expect(await readdir(folder)).toEqual([]);
});

test('a process that reuses an old number is not signalled', async () => {
  const folder = await temporaryFolder();
  const stranger = await startProcess('');
  await writeFile(join(folder, 'edge.pid'), `${stranger.pid}\n`);
  await writeFile(join(folder, 'edge.identity'), 'another-boot/1');
  expect(await createPidFiles(folder).endLeftovers([])).toEqual([]);
  expect(stranger.exitCode).toBeNull();
  expect(stranger.signalCode).toBeNull();
  expect(await readdir(folder)).toEqual([]);
});
