import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { describeDockerEngine, engineVersion, findDockerEngine } from './docker-engine.ts';

const packages = { possible: false, install: () => Promise.reject(new Error('not here')) };
const usual = await engineVersion({});

test('an engine that DOCKER_HOST names and that does not answer is an error, not a reason to look elsewhere', async () => {
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere/docker.sock');
  onTestFinished(() => void vi.unstubAllEnvs());
  const cacheFolder = await temporaryFolder();
  const find = findDockerEngine({ env: process.env, cacheFolder, packages, doing: () => {} });
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
    const engine = await findDockerEngine({ env, cacheFolder, packages, doing: () => {} });
    expect(engine).toEqual({ version: usual, origin: 'answering at /var/run/docker.sock' });
    expect(describeDockerEngine(engine)).toBe(`Docker ${usual}, answering at /var/run/docker.sock`);
  },
);
