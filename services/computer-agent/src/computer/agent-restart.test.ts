// A restart of the agent loses no computer, no running exec, and no result that was not received.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { IMAGE } from '@switchyard/sandbox-computer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHeldEngine } from '../__fixtures__/held-engine.ts';
import { mountPoints, unmount } from '../docker/mounts.ts';
import { openComputerHost } from './open-computer-host.ts';
import { openTestHost, run, SETUP_TIMEOUT_MS, type TestHost } from './test-host.ts';

const DOOMED_AGENT = fileURLToPath(new URL('./__fixtures__/doomed-agent.ts', import.meta.url));

/** The machine may be busy. */
const PATIENCE = { timeout: 60_000 };

/** Without a pool: an agent in another process would remove it as a dead one's. */
let testHost: TestHost;

beforeAll(async () => {
  testHost = await openTestHost();
}, SETUP_TIMEOUT_MS);

afterAll(() => testHost?.close(), SETUP_TIMEOUT_MS);

type Made = Awaited<ReturnType<TestHost['createComputer']>>;

/** Runs a command by an agent in a process of its own, and kills that agent when the command has begun. */
async function killAgentDuring({ id, computer }: Made, execId: string, command: string): Promise<void> {
  const { dataDirectory, agentId } = testHost.options;
  const agent = fork(DOOMED_AGENT, [dataDirectory, agentId, id, computer.containerId, execId, command]);
  await once(agent, 'message');
  agent.kill('SIGKILL');
  await once(agent, 'exit');
}

test('a command goes on without an agent; the next agent gets all of its output and its exit code', async () => {
  const made = await testHost.createComputer();
  const { computer } = made;
  await killAgentDuring(made, 'survivor', 'echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 9');
  expect(await computer.init.execs()).toEqual([{ id: 'survivor', running: true, kept: false }]);
  const result = computer.init.attach('survivor');
  await run(computer, 'touch go');
  expect(await result).toMatchObject({ exitCode: 9, truncated: false });
  expect((await result).output.toString()).toBe('one\ntwo\n');
});

test('a result that came without an agent waits for the next; received once, it is forgotten', async () => {
  const made = await testHost.createComputer();
  const { computer } = made;
  await killAgentDuring(made, 'finished', 'echo begun; until [ -e go ]; do sleep 0.01; done; echo ended');
  await run(computer, 'touch go; until [ "$(pgrep -fc "[b]egun")" = 0 ]; do sleep 0.01; done');
  await expect
    .poll(() => computer.init.execs(), PATIENCE)
    .toEqual([{ id: 'finished', running: false, kept: false }]);
  expect((await computer.init.attach('finished')).output.toString()).toBe('begun\nended\n');
  expect(await computer.init.execs()).toEqual([]);
  await expect(computer.init.attach('finished')).rejects.toMatchObject({
    details: { reason: 'unknown_exec' },
  });
});

test('unreceived results are bounded: the oldest are dropped first', async () => {
  const { computer } = await testHost.createComputer();
  const abandoned = await testHost.connect(computer);
  const count = 80;
  const started = Array.from({ length: count }, (_, i) => {
    const up = Promise.withResolvers<void>();
    run(abandoned, `echo ${i}; until [ -e go ]; do sleep 0.5; done; [ ${i} -ge 0 ]`, {
      id: `left-${i}`,
      timeoutMs: 120_000,
      consume: () => up.resolve(),
    }).catch(() => {}); // the connection closes before the command ends
    return up.promise;
  });
  await Promise.all(started);
  abandoned.release();
  await run(computer, 'touch go');
  await expect
    .poll(async () => (await computer.init.execs()).filter(({ running }) => running).length, PATIENCE)
    .toBe(0);
  expect((await computer.init.execs()).length).toBe(64);
});

test('a computer whose container is gone cannot be connected to', async () => {
  const { computer } = await testHost.createComputer();
  await computer.stop();
  await expect(testHost.connect(computer)).rejects.toMatchObject({
    code: 'computer_failed',
  });
});

describe('an agent with a pool', () => {
  let pooling: TestHost;

  beforeAll(async () => {
    pooling = await openTestHost({ warmPool: 1 });
    await pooling.host.poolFilled();
  }, SETUP_TIMEOUT_MS);

  afterAll(() => pooling?.close(), SETUP_TIMEOUT_MS);

  test('the next agent keeps computers, destroys the pool of the last one, and fills its own', async () => {
    const { host } = pooling;
    const { id, computer } = await pooling.createComputer();
    await run(computer, 'echo kept > file');
    await host.poolFilled();
    const before = await host.containers();
    const pooledBefore = before.filter(({ pooled }) => pooled).map(({ containerId }) => containerId);
    expect(pooledBefore.length).toBe(1);

    const next = await pooling.reopen();
    await next.poolFilled();
    const after = await next.containers();
    const ids = after.map(({ containerId }) => containerId);
    expect(ids).toContain(computer.containerId);
    expect(ids).not.toContain(pooledBefore[0]);
    expect(after.find(({ containerId }) => containerId === computer.containerId)).toMatchObject({
      pooled: false,
      running: true,
    });

    const again = await pooling.connect(computer, next);
    expect((await run(again, 'cat file')).output.toString()).toBe('kept\n');
    await again.stop();
    await again.exited;
    const reservation = await next.reserve({ computerId: id, image: IMAGE, cpu: 1, memoryMb: 1024 });
    const restarted = await reservation.start();
    expect((await run(restarted, 'cat file')).output.toString()).toBe('kept\n');
  });

  test('until it prepares, an agent serves existing computers and creates no new ones', async () => {
    const { id, computer } = await pooling.createComputer();
    await pooling.host.poolFilled();
    const next = await openComputerHost(pooling.options);
    const again = await pooling.connect(computer, next);
    expect((await run(again, 'echo here')).output.toString()).toBe('here\n');
    await next.workspaces.create(id); // which has its own
    await expect(next.workspaces.create('cmp_new')).rejects.toMatchObject({ code: 'no_capacity' });
    await expect(
      next.reserve({ computerId: 'cmp_new', image: IMAGE, cpu: 1, memoryMb: 1024 }),
    ).rejects.toMatchObject({ code: 'no_capacity' });
    again.release();
  });

  test('nothing is left of a container that ended after the next agent saw it', async () => {
    const { docker, dataDirectory } = pooling.options;
    const { computer } = await pooling.createComputer();
    await pooling.host.poolFilled();
    const container = docker.getContainer(computer.containerId);
    const slot = (await container.inspect()).Config.Labels['switchyard.slot'];
    const next = await openComputerHost(pooling.options);
    await container.remove({ force: true });
    const left = async () =>
      (await readdir(dataDirectory, { recursive: true })).filter((path) => path.includes(`${slot}`));
    expect(await left()).not.toEqual([]);
    next.prepare();
    await next.ready;
    expect(await left()).toEqual([]);
    expect((await mountPoints()).filter((point) => point.includes(`${slot}`))).toEqual([]);
    await next.close();
    await pooling.reopen();
  });

  test('an agent that ends before it is ready removes the pool of the last one', async () => {
    const { docker } = pooling.options;
    const agentId = `${pooling.options.agentId}_short`;
    const dataDirectory = await mkdtemp(join(tmpdir(), 'switchyard-host-test-'));
    const options = { ...pooling.options, agentId, dataDirectory };
    const killed = new AbortController();
    const first = await openComputerHost({ ...options, killed: killed.signal });
    first.prepare();
    await first.poolFilled();
    killed.abort();
    const next = await openComputerHost(options);
    await next.close();
    const filters = { label: [`switchyard.agent=${agentId}`] };
    expect(await docker.listContainers({ all: true, filters })).toEqual([]);
    await first.close();
    expect((await mountPoints()).filter((point) => point.startsWith(dataDirectory))).toEqual([]);
    await rm(dataDirectory, { recursive: true });
  });

  test('the next agent restores files and size of a running computer that lost them meanwhile, once', async () => {
    const { docker, dataDirectory, agentId } = pooling.options;
    const size = { cpu: 0.5, memoryMb: 512 };
    let heard = '';
    const filters = { label: [`switchyard.agent=${agentId}`], event: ['update', 'pause'] };
    const events = await docker.getEvents({ filters });
    events.setEncoding('utf8').on('data', (lines: string) => {
      heard += lines;
    });
    const { id, computer } = await pooling.createComputer(size);
    const { containerId } = computer;
    await run(computer, 'echo of the computer > file');
    const container = docker.getContainer(containerId);
    const slot = (await container.inspect()).Config.Labels['switchyard.slot']!;
    await unmount(join(await realpath(dataDirectory), 'slots', slot));
    await container.update({ CpuShares: 32 });

    const next = await openComputerHost(pooling.options);
    for (let i = 0; i < 2; i++) {
      const again = await next.connect({ computerId: id, containerId, ...size });
      expect((await run(again, 'cat file')).output.toString()).toBe('of the computer\n');
      again.release();
    }
    expect((await container.inspect()).HostConfig.CpuShares).toBe(512);
    // The engine is slow at it, and fifty computers are taken over at once: no size is given twice.
    await container.pause(); // the last event
    await expect.poll(() => heard).toContain('"Action":"pause"');
    await container.unpause();
    (events as Readable).destroy();
    const updates = heard
      .split('\n')
      .filter((line) => line.includes(containerId) && line.includes('"update"'));
    expect(updates).toHaveLength(3); // when it left the pool, by this test, and by the next agent
  });

  test('a running computer that lost its files is kept until it is taken over', async () => {
    const { docker, dataDirectory } = pooling.options;
    const { computer } = await pooling.createComputer();
    const { containerId } = computer;
    await run(computer, 'echo kept > file');
    await pooling.host.poolFilled();
    const slot = (await docker.getContainer(containerId).inspect()).Config.Labels['switchyard.slot']!;
    await unmount(join(await realpath(dataDirectory), 'slots', slot));

    const next = await openComputerHost(pooling.options);
    next.prepare((id) => id === containerId);
    await next.ready;
    const again = await pooling.connect(computer, next);
    expect((await run(again, 'cat file')).output.toString()).toBe('kept\n');
    again.release();
    await next.close();
    await pooling.reopen();
  });
});

test('an earlier agent’s container that the engine cannot remove does not block the next agent', async () => {
  const engine = await openHeldEngine();
  const other = await openTestHost({ docker: engine.docker, warmPool: 2, prepareRetryMs: 1_000 });
  const idsOf = async () => (await other.host.containers()).map(({ containerId }) => containerId);
  try {
    await other.host.poolFilled();
    const [stuck, removed] = await idsOf();
    engine.fail(new RegExp(`^DELETE .*/containers/${stuck}`));
    await other.reopen();
    expect(await idsOf()).toContain(stuck);
    expect(await idsOf()).not.toContain(removed);
    await other.createComputer();
  } finally {
    engine.release();
    await other.close();
    await engine.close();
  }
});
