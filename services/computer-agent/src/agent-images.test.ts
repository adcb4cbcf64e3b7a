// Computers of images that a caller names, from a real registry: used, refused, and given up in the middle of a pull.
import { once } from 'node:events';
import { requestHost } from '@switchyard/bus';
import { computerKey } from '@switchyard/contracts';
import { FakeClock, importSmallImage, startRegistry, type TestRegistry } from '@switchyard/testing';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  defaultLimits,
  newTestRecord,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  startAgentProcess,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const MANY_BYTES = 3_000_000;
/** The registry is on this host's loopback. */
const ENV = { SWITCHYARD_COMPUTER_NETWORKS: '127.0.0.0/8' };
const LOCAL = 'switchyard-test/shell:latest';
/** After so long nobody waits for a creation any more whose agent died. */
const GIVEN_UP_MS = 61_000;
const docker = new Docker();
let installation: TestInstallation;
let on: TestAgent;
let registry: TestRegistry;

beforeAll(async () => {
  [installation, registry] = await Promise.all([openTestInstallation(), startRegistry()]);
  on = await openTestAgent(installation, { env: ENV });
}, SETUP_TIMEOUT_MS);
afterEach(() => {
  registry.fault = () => undefined;
});
afterAll(async () => {
  await on?.close();
  for (const { Id } of await imagesOfRegistry()) await docker.getImage(Id).remove({ force: true });
  await registry?.stop();
  await installation?.stop();
});

async function imagesOfRegistry() {
  return (await docker.listImages()).filter(({ RepoTags, RepoDigests }) =>
    [...(RepoTags ?? []), ...(RepoDigests ?? [])].some((name) => name.startsWith(registry.address)),
  );
}

/** From now on no layer comes to its end. @returns resolves when the engine has asked for one */
function stallLayers(): Promise<void> {
  return new Promise((resolve) => {
    registry.fault = (path) => {
      if (!/\/blobs\//.test(path)) return undefined;
      resolve();
      return 'stalled';
    };
  });
}

test('a computer of such an image runs commands by what is in it, and starts again when its registry is away', async () => {
  const image = `${registry.address}/small/shell:latest`;
  await importSmallImage(docker, LOCAL);
  await docker.getImage(LOCAL).tag({ repo: image.replace(/:latest$/, ''), tag: 'latest' });
  const pushed = await docker.getImage(image).push({ authconfig: { auth: '' } });
  pushed.resume();
  await once(pushed, 'end');
  for (const name of [image, LOCAL]) await docker.getImage(name).remove();

  const { id, image: shown } = await on.create({ image });
  expect(shown).toBe(image); // as it was named
  expect(await on.exec(id, 'echo here > file; ls /; which git || cat file')).toMatchObject({
    exit_code: 0,
    stdout: expect.stringMatching(/workspace(.|\n)*here\n$/),
  });
  await on.ask('stop', id);
  registry.fault = () => ({ status: 500 });
  expect(await on.ask('start', id)).toMatchObject({ status: 'running' });
  expect(await on.exec(id, 'cat file')).toMatchObject({ stdout: 'here\n' });
  await on.delete(id);
}, 60_000);

test('one that cannot be had is the caller’s error, and nothing of the computer is left', async () => {
  await expect(on.create({ image: `${registry.address}/no/such` })).rejects.toMatchObject({
    code: 'image_unavailable',
    status: 400,
    param: 'image',
    details: { reason: 'not_found' },
  });
  expect(on.agent.computers.all()).toEqual([]);
  expect(await imagesOfRegistryNamed('no/such')).toEqual([]);
});

test('a caller who goes away ends the pull, and nothing is left', async () => {
  const image = await registry.push('slow/left', { bytes: MANY_BYTES });
  const pulling = stallLayers();
  const record = newTestRecord(on.agent.hostId, defaultLimits(), { image });
  const { org, id } = record;
  await installation.computers.create(computerKey(org, id), record);
  const gone = new AbortController();
  const created = requestHost(
    installation.bus,
    record.host,
    'create',
    { org, id, limited: false },
    { signal: gone.signal },
  );
  created.catch(() => {});
  await pulling;
  gone.abort(new Error('gone'));
  await expect(created).rejects.toThrow('gone');
  await expect.poll(() => on.agent.computers.all()).toEqual([]);
  expect(await imagesOfRegistryNamed('slow/left')).toEqual([]);
  await installation.computers.delete(computerKey(org, id)); // as control does, which asked
});

test('an agent that is killed in the middle of a pull leaves nothing: its successor takes the creation back', async () => {
  const image = await registry.push('slow/killed', { bytes: MANY_BYTES });
  const dataFolder = await installation.newDataFolder();
  const doomed = await startAgentProcess(installation, { dataFolder, now: on.clock.now(), env: ENV });
  const pulling = stallLayers();
  const record = newTestRecord(doomed.hostId, defaultLimits(), { image });
  const { org, id } = record;
  doomed.host.create(record).catch(() => {}); // nobody is there to answer
  await pulling;
  await doomed.kill();
  registry.fault = () => undefined;
  const clock = new FakeClock(Date.now() + GIVEN_UP_MS);
  const successor = await openTestAgent(installation, { dataFolder, env: ENV, clock });
  try {
    expect(await successor.record(id)).toBeNull();
    expect(successor.agent.computers.all()).toEqual([]);
    expect(await imagesOfRegistryNamed('slow/killed')).toEqual([]);
    expect(installation.events.of('computer.metered').filter(({ data }) => data.computer_id === id)).toEqual(
      [],
    );
    // The same image can be had afterwards; this one holds no shell, and a computer of it runs all the same.
    expect(await successor.create({ image })).toMatchObject({ status: 'running' });
  } finally {
    await successor.close();
  }
  expect(await installation.computers.get(computerKey(org, id))).toBeNull();
}, 60_000);

async function imagesOfRegistryNamed(repository: string) {
  return (await imagesOfRegistry()).filter(({ RepoDigests }) =>
    RepoDigests?.some((name) => name.includes(repository)),
  );
}
