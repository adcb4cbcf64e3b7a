import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { describeDockerEngine, engineVersion, findDockerEngine, startDockerd } from './docker-engine.ts';
import { processIdentity } from './process-identity.ts';

const packages = { possible: false, install: () => Promise.reject(new Error('not here')) };
const stopping = new AbortController().signal;
const usual = await engineVersion({});

test('an engine that DOCKER_HOST names and that does not answer is an error, not a reason to look elsewhere', async () => {
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere/docker.sock');
  onTestFinished(() => void vi.unstubAllEnvs());
  const cacheFolder = await temporaryFolder();
  const find = findDockerEngine({ env: process.env, cacheFolder, packages, doing: () => {}, stopping });
  await expect(find).rejects.toMatchObject({
    message: expect.stringContaining('unix:///nowhere/docker.sock'),
    fix: expect.stringContaining('DOCKER_HOST'),
  });
});

test.skipIf(usual === undefined)(
  'an engine that answers at the usual place is used, and is not ours to stop',
  async () => {
    const { DOCKER_HOST: _, ...env } = process.env;
    const cacheFolder = await temporaryFolder();
    const engine = await findDockerEngine({ env, cacheFolder, packages, doing: () => {}, stopping });
    expect(engine).toEqual({ version: usual, origin: 'answering at /var/run/docker.sock' });
    expect(describeDockerEngine(engine)).toBe(`Docker ${usual}, answering at /var/run/docker.sock`);
  },
);

test('a start that is interrupted leaves no dockerd behind', async () => {
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere/docker.sock');
  onTestFinished(() => void vi.unstubAllEnvs());
  const cacheFolder = await temporaryFolder();
  const pidFile = join(cacheFolder, 'pid');
  const program = `#!/bin/sh\necho $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 600\n`;
  await writeFile(join(cacheFolder, 'dockerd'), program, { mode: 0o755 });
  const env = { ...process.env, PATH: `${cacheFolder}:${process.env.PATH}` };
  const interrupted = new AbortController();
  const starting = startDockerd('dockerd started', { env, cacheFolder, stopping: interrupted.signal });
  await expect.poll(() => existsSync(pidFile)).toBe(true);
  interrupted.abort();
  await expect(starting).rejects.toThrow('aborted');
  expect(await processIdentity(Number(await readFile(pidFile, 'utf8')))).toBeUndefined();
});

test.skipIf(usual === undefined || !existsSync('/var/run/docker.pid'))(
  'where our dockerd ends because another process has just started one, that one is used, and is not ours to stop',
  async () => {
    const cacheFolder = await temporaryFolder();
    const socket = join(cacheFolder, 'docker.sock');
    vi.stubEnv('DOCKER_HOST', `unix://${socket}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const [begun, logFile] = [join(cacheFolder, 'begun'), join(cacheFolder, 'dockerd.log')];
    await writeFile(logFile, 'of the other one\n');
    const program = `#!/bin/sh\necho 'process is still running'; echo $$ > ${begun}.new; mv ${begun}.new ${begun}\n`;
    await writeFile(join(cacheFolder, 'dockerd'), program, { mode: 0o755 });
    const env = { ...process.env, PATH: `${cacheFolder}:${process.env.PATH}` };
    const starting = startDockerd('dockerd started', { env, cacheFolder, stopping });
    starting.catch(() => {}); // awaited below
    await expect.poll(() => existsSync(begun)).toBe(true);
    const pid = Number(await readFile(begun, 'utf8'));
    await expect.poll(() => processIdentity(pid)).toBeUndefined();
    // The running engine answers there from now on.
    const late = createServer((client) => {
      pipeline(client, connect('/var/run/docker.sock'), client, () => {});
    });
    late.listen(socket);
    onTestFinished(() => void late.close());
    expect(await starting).toEqual({ version: usual, origin: 'started by another process' });
    expect(await readFile(logFile, 'utf8')).toBe('of the other one\nprocess is still running\n');
  },
);
