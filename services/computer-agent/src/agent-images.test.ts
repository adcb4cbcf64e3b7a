// Computers with images that a caller names, from a real registry: used, refused, and cancelled during a pull.
import { once } from 'node:events';
import { openReply, requestHost } from '@switchyard/bus';
import {
  type CreationProgress,
  computerObject,
  creationProgress,
  hostSubject,
  NOTHING_TO_PULL,
  recordKey,
} from '@switchyard/contracts';
import { IMAGE } from '@switchyard/sandbox-computer';
import { importSmallImage, startRegistry, type TestRegistry } from '@switchyard/testing';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  defaultLimits,
  newTestRecord,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';
import { startAgentProcess } from './test-agent-process.ts';

const MANY_BYTES = 3_000_000;
/** The registry is on this host's loopback. */
const ENV = { SWITCHYARD_COMPUTER_NETWORKS: '127.0.0.0/8' };
const LOCAL = 'switchyard-test/shell:latest';
const docker = new Docker();

let installation: TestInstallation;
let testAgent: TestAgent;
let registry: TestRegistry;

beforeAll(async () => {
  [installation, registry] = await Promise.all([openTestInstallation(), startRegistry()]);
  testAgent = await openTestAgent(installation, { env: ENV });
}, SETUP_TIMEOUT_MS);
afterEach(() => {
  registry.fault = () => undefined;
});
afterAll(async () => {
  await testAgent?.close();
  for (const { Id } of await imagesOfRegistry()) await docker.getImage(Id).remove({ force: true });
  await registry?.stop();
  await installation?.stop();
});

async function imagesOfRegistry() {
  return (await docker.listImages()).filter(({ RepoTags }) =>
    RepoTags?.some((name) => name.startsWith(registry.address)),
  );
}

/** From now on no layer completes. @returns resolves when the engine has requested one */
function stallLayers(): Promise<void> {
  return new Promise((resolve) => {
    registry.fault = (path) => {
      if (!/\/blobs\//.test(path)) return undefined;
      resolve();
      return 'stalled';
    };
  });
}

/** From now on half of each layer is sent, and the rest when released. */
function holdLayers(): { readonly letGo: () => void } {
  const { promise: until, resolve: letGo } = Promise.withResolvers<void>();
  registry.fault = (path) => (/\/blobs\//.test(path) ? { heldAfterBytes: MANY_BYTES / 2, until } : undefined);
  return { letGo };
}

/** A creation with progress, as control requests it. */
async function streamCreation(image: string) {
  const record = newTestRecord(testAgent.agent.hostId, defaultLimits(), { image });
  const { org, id } = record;
  await installation.computers.create(recordKey(record), record);
  const subject = hostSubject(testAgent.agent.hostId, 'create-stream');
  const reply = await openReply(installation.bus, { subject, head: { org, id, limited: false } });
  const reported: CreationProgress[] = [];
  const ended = (async () => {
    for await (const lines of reply.body)
      for (const line of String(lines).trim().split('\n'))
        reported.push(creationProgress.parse(JSON.parse(line)));
    return computerObject.parse(await reply.end);
  })();
  ended.catch(() => {}); // some are expected to fail
  return { id, told: reported, ended };
}

/** The engine reports the first bytes at once, and later bytes only when more arrive. */
const isBegun = (progress: CreationProgress | null) =>
  progress !== null && progress.bytes_done > 0 && progress.bytes_done < MANY_BYTES;

test('a pull’s progress is in stream and record, never decreases, and is gone once the computer runs', async () => {
  const { letGo } = holdLayers();
  const { id, told, ended } = await streamCreation(await registry.push('slow/seen', { bytes: MANY_BYTES }));
  expect((await testAgent.record(id))?.progress).not.toBeNull(); // a caller that knows the id finds the computer
  // Time for a further line and a further write: the engine's next one may be on its way.
  const bothTell = async () => {
    testAgent.clock.advance(1_000);
    return isBegun((await testAgent.record(id))?.progress ?? null) && told.some(isBegun);
  };
  await expect.poll(bothTell).toBe(true);
  await expect(testAgent.exec(id, 'true')).rejects.toMatchObject({ code: 'computer_busy' });
  await expect(testAgent.ask('stop', id)).rejects.toMatchObject({ code: 'computer_busy' });
  letGo();
  expect(await ended).toMatchObject({ id, status: 'running' });
  expect(await ended).not.toHaveProperty('progress');
  expect(await testAgent.record(id)).toMatchObject({ state: 'running', progress: null });
  const percents = told.map(({ percent }) => percent);
  expect(percents).toEqual(percents.toSorted((one, other) => one - other));
  expect(told[0]).toMatchObject({ phase: 'looking_up', percent: 0 });
  expect(told.at(-1)).toMatchObject({ phase: 'starting', percent: 100, layers_done: 1, layers_total: 1 });
  await testAgent.delete(id);
});

test('a creation that pulls nothing reports one line, and its record never has progress', async () => {
  const seen: unknown[] = [];
  const watch = await installation.computers.kv.watch();
  const { id, told, ended } = await streamCreation(IMAGE);
  await ended;
  for await (const entry of watch) {
    if (!entry.key.endsWith(id) || entry.operation !== 'PUT') continue;
    const { state, progress } = installation.computers.read(entry).value;
    seen.push(progress);
    if (state === 'running') break;
  }
  expect(told).toEqual([NOTHING_TO_PULL]);
  expect(new Set(seen)).toEqual(new Set([null]));
  await testAgent.delete(id);
});

test('one deleted during its pull ends at once, and leaves nothing', async () => {
  const pulling = stallLayers();
  const { id, ended } = await streamCreation(await registry.push('slow/deleted', { bytes: MANY_BYTES }));
  await pulling;
  await expect(testAgent.delete(id)).rejects.toMatchObject({ code: 'computer_not_found' }); // it is deleted already
  await expect(ended).rejects.toMatchObject({ code: 'computer_not_found' });
  expect(await testAgent.record(id)).toBeNull();
  expect(testAgent.agent.computers.all()).toEqual([]);
  expect(await imagesOfRegistryNamed('slow/deleted')).toEqual([]);
});

describe('the start of a computer whose image must be pulled again', () => {
  /** A start that waits for the registry. */
  async function beginStart(repository: string) {
    const { id } = await testAgent.create({ image: await registry.push(repository, { bytes: MANY_BYTES }) });
    await testAgent.ask('stop', id);
    for (const { Id } of await imagesOfRegistryNamed(repository)) await docker.getImage(Id).remove();
    const { minutes } = (await testAgent.record(id))!;
    const pulling = stallLayers();
    const started = testAgent.ask('start', id);
    started.catch(() => {}); // expected to fail
    await pulling;
    return { id, started, minutes };
  }

  test('ends with the deletion of the computer, and costs nothing', async () => {
    const { id, started, minutes } = await beginStart('slow/start-deleted');
    await testAgent.delete(id);
    await expect(started).rejects.toMatchObject({ code: 'computer_not_found' });
    expect(await testAgent.record(id)).toBeNull();
    await installation.events.until(
      'deleted',
      ({ type, data }) => type === 'computer.deleted' && 'computer_id' in data && data.computer_id === id,
    );
    const metered = installation.events.of('computer.metered');
    expect(metered.filter(({ data }) => data.computer_id === id)).toHaveLength(minutes);
  });

  test('ends when the computer is stopped, also a second start that waits', async () => {
    const { id, started } = await beginStart('slow/start-stopped');
    const second = testAgent.ask('start', id);
    second.catch(() => {});
    const computer = await testAgent.agent.computers.find('org_test', id);
    await expect.poll(() => computer.beginnings.size).toBe(2);
    expect(await testAgent.ask('stop', id)).toMatchObject({ status: 'stopped' });
    for (const start of [started, second])
      await expect(start).rejects.toMatchObject({ code: 'computer_not_running' });
    await testAgent.delete(id);
  });

  test('ends with its agent, which leaves the computer stopped', async () => {
    const { id, started } = await beginStart('slow/start-left');
    const { agent, clock, dataFolder } = testAgent;
    let isStopped = false;
    const stopped = agent.stop().then(() => {
      isStopped = true;
    });
    // First it waits for calls in progress, by the clock.
    await expect
      .poll(() => {
        clock.advance(1_000);
        return isStopped;
      })
      .toBe(true);
    await stopped;
    await expect(started).rejects.toMatchObject({ code: 'service_unavailable' });
    await testAgent.bus.close();
    testAgent = await openTestAgent(installation, { dataFolder, env: ENV });
    expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', container: null, run: null });
    await testAgent.delete(id);
  });
});

test('a computer of such an image runs its programs, and restarts while its registry is down', async () => {
  const image = `${registry.address}/small/shell:latest`;
  await importSmallImage(docker, LOCAL);
  await docker.getImage(LOCAL).tag({ repo: image.replace(/:latest$/, ''), tag: 'latest' });
  const pushed = await docker.getImage(image).push({ authconfig: { auth: '' } });
  pushed.resume();
  await once(pushed, 'end');
  for (const name of [image, LOCAL]) await docker.getImage(name).remove();

  const { id, image: shown } = await testAgent.create({ image });
  expect(shown).toBe(image);
  expect(await testAgent.exec(id, 'echo here > file; ls /; which git || cat file')).toMatchObject({
    exit_code: 0,
    stdout: expect.stringMatching(/workspace(.|\n)*here\n$/),
  });
  await testAgent.ask('stop', id);
  registry.fault = () => ({ status: 500 });
  expect(await testAgent.ask('start', id)).toMatchObject({ status: 'running' });
  expect(await testAgent.exec(id, 'cat file')).toMatchObject({ stdout: 'here\n' });
  await testAgent.delete(id);
});

test('one that cannot be had is the caller’s error, and nothing of the computer is left', async () => {
  await expect(testAgent.create({ image: `${registry.address}/no/such` })).rejects.toMatchObject({
    code: 'image_unavailable',
    status: 400,
    param: 'image',
    details: { reason: 'not_found' },
  });
  expect(testAgent.agent.computers.all()).toEqual([]);
  expect(await imagesOfRegistryNamed('no/such')).toEqual([]);
});

test('a caller’s disconnect ends the pull, and nothing is left', async () => {
  const image = await registry.push('slow/left', { bytes: MANY_BYTES });
  const pulling = stallLayers();
  const record = newTestRecord(testAgent.agent.hostId, defaultLimits(), { image });
  const { org, id } = record;
  await installation.computers.create(recordKey(record), record);
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
  await expect.poll(() => testAgent.agent.computers.all()).toEqual([]);
  expect(await imagesOfRegistryNamed('slow/left')).toEqual([]);
  await installation.computers.delete(recordKey(record)); // as control does after the failed request
});

test('an agent that is killed in the middle of a pull leaves nothing: its successor takes the creation back', async () => {
  const image = await registry.push('slow/killed', { bytes: MANY_BYTES });
  const dataFolder = await installation.newDataFolder();
  const doomed = await startAgentProcess(installation, { dataFolder, now: testAgent.clock.now(), env: ENV });
  const pulling = stallLayers();
  const record = newTestRecord(doomed.hostId, defaultLimits(), { image });
  const { id } = record;
  doomed.host.create(record).catch(() => {}); // the agent dies before it answers
  await pulling;
  await doomed.host.recordWhen(id, ({ progress }) => progress !== null);
  await doomed.kill();
  registry.fault = () => undefined;
  // The record says that the creation began, so the next agent does not wait for the request.
  const successor = await openTestAgent(installation, { dataFolder, env: ENV });
  try {
    expect(await successor.record(id)).toBeNull();
    expect(successor.agent.computers.all()).toEqual([]);
    expect(await imagesOfRegistryNamed('slow/killed')).toEqual([]);
    expect(installation.events.of('computer.metered').filter(({ data }) => data.computer_id === id)).toEqual(
      [],
    );
    // The same image can be pulled afterwards; it has no shell, and a computer of it runs all the same.
    expect(await successor.create({ image })).toMatchObject({ status: 'running' });
  } finally {
    await successor.close();
  }
  expect(await installation.computers.get(recordKey(record))).toBeNull();
});

async function imagesOfRegistryNamed(repository: string) {
  return (await imagesOfRegistry()).filter(({ RepoTags }) =>
    RepoTags?.some((name) => name.includes(repository)),
  );
}
