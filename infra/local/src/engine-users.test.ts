import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import type { StartedEngine } from './docker-engine.ts';
import { createEngineUsers } from './engine-users.ts';
import { processIdentity } from './process-identity.ts';

/** Stands for a dockerd that we started: the tests check whether it is stopped. */
async function startEngine(): Promise<{ engine: StartedEngine; process: ChildProcess }> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const pid = child.pid!;
  return { engine: { pid, identity: (await processIdentity(pid))! }, process: child };
}

test('the one that started the engine stops it, and leaves no trace', async () => {
  const cache = await temporaryFolder();
  const { engine } = await startEngine();
  const users = createEngineUsers(cache, { servesOthers: async () => false });
  await users.join();
  expect(await users.leave(engine)).toBe(true);
  expect(await processIdentity(engine.pid)).toBeUndefined();
  expect(await readdir(join(cache, 'engine-users'))).toEqual([]);
});

test('an engine that was found running is left running', async () => {
  const users = createEngineUsers(await temporaryFolder(), { servesOthers: async () => false });
  await users.join();
  expect(await users.leave(undefined)).toBe(false);
});

test('an engine that has died is not asked whom it serves', async () => {
  const cache = await temporaryFolder();
  const { engine, process: dockerd } = await startEngine();
  const noAnswer = () => Promise.reject(new Error('connect ENOENT /var/run/docker.sock'));
  const users = createEngineUsers(cache, { servesOthers: noAnswer });
  await users.join();
  dockerd.kill('SIGKILL');
  await once(dockerd, 'exit');
  expect(await users.leave(engine)).toBe(false);
  expect(await readdir(join(cache, 'engine-users'))).toEqual([]);
});

test('it is left to another Switchyard that uses it, but not to one that was killed', async () => {
  const cache = await temporaryFolder();
  const { engine } = await startEngine();
  const { engine: other } = await startEngine();
  const users = createEngineUsers(cache, { servesOthers: async () => false });
  await users.join();
  await writeFile(join(cache, 'engine-users', String(other.pid)), other.identity);
  expect(await users.leave(engine)).toBe(false);
  expect(await processIdentity(engine.pid)).toBe(engine.identity);

  await writeFile(join(cache, 'engine-users', String(other.pid)), 'another-boot/1');
  expect(await users.leave(engine)).toBe(true);
});

test('it is left to containers that are not ours', async () => {
  const { engine } = await startEngine();
  const users = createEngineUsers(await temporaryFolder(), { servesOthers: async () => true });
  await users.join();
  expect(await users.leave(engine)).toBe(false);
});
