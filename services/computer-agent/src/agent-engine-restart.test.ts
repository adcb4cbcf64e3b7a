// The Docker engine ends, by an operator or a fault, and comes back, with and without live-restore. No stopped
// computer is recorded as running, only running time is billed, and leftovers are removed later.
import { rm } from 'node:fs/promises';
import { constants } from 'node:os';
import {
  canStartTestEngine,
  FakeClock,
  importSmallImage,
  startTestEngine,
  type TestEngine,
} from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ORPHAN_GRACE_MS } from './lifecycle/reconciler.ts';
import {
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestAgentOptions,
  type TestInstallation,
} from './test-agent.ts';

const { SIGTERM } = constants.signals;
/** Timeout for a frozen engine; longer than a busy one needs. */
const FROZEN_ANSWER_MS_MAX = 30_000;
const NOON = Date.parse('2026-11-21T12:00:00Z');

/** An engine that is back is asked for a container of the pool every few seconds. */
const POOL_FILLED_MS_MAX = 60_000;

let installation: TestInstallation;
let dataFolder: string;
let engine: TestEngine;
let testAgent: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
}, SETUP_TIMEOUT_MS);
afterAll(() => installation?.stop());
beforeEach(async () => {
  dataFolder = await installation.newDataFolder();
});
afterEach(async () => {
  await testAgent.close();
  expect(await containers()).toEqual([]);
  await rm(dataFolder, { recursive: true, force: true });
});

const startAgent = (now: number, warmPool = 0, options: Pick<TestAgentOptions, 'engineAnswerMsMax'> = {}) =>
  openTestAgent(installation, {
    dataFolder,
    docker: engine.docker,
    clock: new FakeClock(now),
    env: { SWITCHYARD_WARM_POOL: String(warmPool) },
    ...options,
  });

/** Events of a computer in the stream: its changes and its minutes, each with its run. */
const published = (id: string) =>
  installation.events.all
    .filter(({ data }) => 'computer_id' in data && data.computer_id === id)
    .map((event) => event.id.slice(id.length + 1));

const containers = async () =>
  (await engine.docker.listContainers({ all: true })).map(({ Id, State }) => ({ id: Id, state: State }));

/** A command that reports its start and then runs forever. */
async function keepBusy(id: string): Promise<{ ended: Promise<unknown> }> {
  const ended = testAgent.exec(id, 'touch begun; exec sleep 1000');
  ended.catch(() => {}); // awaited later by the test
  await expect.poll(() => testAgent.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
  return { ended };
}

/** Makes the init hang, so that only the engine can end it. */
async function hang(id: string): Promise<void> {
  const { container } = (await testAgent.record(id))!;
  const { State } = await engine.docker.getContainer(container!).inspect();
  process.kill(State.Pid, 'SIGSTOP');
}

describe.skipIf(!canStartTestEngine())('with live-restore', () => {
  beforeAll(async () => {
    engine = await startTestEngine({ liveRestore: true });
    await importSmallImage(engine.docker);
  }, SETUP_TIMEOUT_MS);
  afterAll(() => engine?.stop());

  test('computers run on, billed; work that needs the engine fails, leaves nothing, and succeeds later', async () => {
    testAgent = await startAgent(NOON);
    const { id } = await testAgent.create();
    const { id: stopped } = await testAgent.create();
    await testAgent.ask('stop', stopped);
    const { id: doomed } = await testAgent.create();
    const { id: asked } = await testAgent.create();
    await keepBusy(id);
    await hang(doomed);

    await engine.kill9();
    await testAgent.pass(90_000);
    expect((await testAgent.exec(id, 'echo here')).stdout).toBe('here\n');
    expect(await testAgent.record(id)).toMatchObject({ state: 'running', minutes: 1 });
    await expect.poll(() => testAgent.agent.refusal()?.reason).toBe('engine'); // heartbeats say so
    await expect(testAgent.create()).rejects.toMatchObject({ code: 'computer_failed' });
    await expect(testAgent.ask('start', stopped)).rejects.toMatchObject({ code: 'computer_failed' });
    expect(await testAgent.record(stopped)).toMatchObject({ state: 'stopped', container: null, run: null });
    await expect(testAgent.ask('stop', doomed)).rejects.toMatchObject({ code: 'computer_failed' });
    // The computer's own init ends it; removing the container waits for the engine.
    const ended = { stop_reason: 'user', minutes: 2 };
    expect(await testAgent.ask('stop', asked)).toMatchObject({ status: 'stopped', ...ended });

    await engine.restart();
    await testAgent.agent.reconciler.reconcile();
    expect(testAgent.agent.refusal()).toBeUndefined();
    // Earlier requests are carried out, with the minutes at the time of the request.
    expect(await testAgent.record(doomed)).toMatchObject({ state: 'stopped', ...ended });
    await testAgent.pass(ORPHAN_GRACE_MS);
    await testAgent.agent.reconciler.reconcile();
    const { container } = (await testAgent.record(id))!;
    await expect.poll(containers).toEqual([{ id: container, state: 'running' }]);
    expect(await testAgent.record(asked)).toMatchObject({ state: 'stopped', ...ended });
    expect((await testAgent.exec(id, 'echo still')).stdout).toBe('still\n');
    expect(await testAgent.ask('start', stopped)).toMatchObject({ status: 'running' });
    await testAgent.ask('stop', stopped);
    await testAgent.pass(40_000);
    await testAgent.ask('stop', id);
    expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', minutes: 3 });
    await installation.events.until('stopped', (event) => event.id === `${id}:1:stopped`);
    expect(published(id)).toEqual(['1:created', '1:0', '1:1', '1:2', '1:stopped']);
  });

  test('a frozen engine blocks no command, and delays operations that need it only until their timeout', async () => {
    testAgent = await startAgent(NOON, 0, { engineAnswerMsMax: FROZEN_ANSWER_MS_MAX });
    const { id } = await testAgent.create();
    const { id: stopped } = await testAgent.create();
    await testAgent.ask('stop', stopped);
    const { id: doomed } = await testAgent.create();
    const { id: asked } = await testAgent.create();
    await keepBusy(doomed);
    await hang(doomed);
    engine.freeze();
    try {
      const failed = { code: 'computer_failed' };
      await Promise.all([
        expect(testAgent.create()).rejects.toMatchObject(failed),
        expect(testAgent.ask('start', stopped)).rejects.toMatchObject(failed),
        expect(testAgent.ask('stop', doomed)).rejects.toMatchObject(failed),
        expect(testAgent.ask('stop', asked)).resolves.toMatchObject({
          status: 'stopped',
          stop_reason: 'user',
        }),
      ]);
      expect((await testAgent.exec(id, 'echo here')).stdout).toBe('here\n');
      await testAgent.pass(60_000);
      expect(await testAgent.record(id)).toMatchObject({ state: 'running', minutes: 1 });
      expect(await testAgent.record(stopped)).toMatchObject({ state: 'stopped', container: null, run: null });
      expect(await testAgent.record(doomed)).toMatchObject({ state: 'stopping', stop_reason: 'user' });
    } finally {
      engine.thaw();
    }
    // The engine may still carry out earlier requests; the reconciler removes their results.
    await testAgent.agent.reconciler.reconcile();
    expect(await testAgent.record(doomed)).toMatchObject({
      state: 'stopped',
      stop_reason: 'user',
      minutes: 1,
    });
    await testAgent.pass(ORPHAN_GRACE_MS);
    await testAgent.agent.reconciler.reconcile();
    const record = await testAgent.record(id);
    await expect.poll(containers).toEqual([{ id: record?.container, state: 'running' }]);
    expect(await testAgent.ask('start', stopped)).toMatchObject({ status: 'running' });
    expect((await testAgent.exec(id, 'echo still')).stdout).toBe('still\n');
  });

  test('an agent that restarts too reaches the inits of computers that ran on', async () => {
    testAgent = await startAgent(NOON, 1);
    const { id } = await testAgent.create();
    await testAgent.exec(id, 'echo kept > file');
    await testAgent.agent.stop();
    await engine.restart();
    testAgent = await startAgent(NOON + 20_000, 1);
    expect(await testAgent.record(id)).toMatchObject({ state: 'running' });
    expect((await testAgent.exec(id, 'cat file')).stdout).toBe('kept\n');
  });
});

describe.skipIf(!canStartTestEngine())('without live-restore', () => {
  beforeAll(async () => {
    engine = await startTestEngine();
    await importSmallImage(engine.docker);
  }, SETUP_TIMEOUT_MS);
  afterAll(() => engine?.stop());

  test('computers stop with it, are reported at once, billed to that moment, and may be started again', async () => {
    testAgent = await startAgent(NOON, 1);
    const { id } = await testAgent.create();
    await testAgent.exec(id, 'echo kept > file');
    const { ended } = await keepBusy(id);
    await testAgent.pass(70_000);
    await engine.end();
    // While the engine is down:
    const record = await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record).toMatchObject({ stop_reason: 'exited', minutes: 2, run: null });
    await installation.events.until('stopped', (event) => event.id === `${id}:1:stopped`);
    expect(await ended).toMatchObject({ exit_code: 128 + SIGTERM }); // its true end
    await expect(testAgent.exec(id, 'true')).rejects.toMatchObject({ code: 'computer_not_running' });
    await expect(testAgent.ask('start', id)).rejects.toMatchObject({ code: 'computer_failed' });
    await testAgent.pass(300_000);

    await engine.restart();
    expect(await testAgent.ask('start', id)).toMatchObject({ status: 'running', minutes: 2 });
    expect((await testAgent.exec(id, 'cat file')).stdout).toBe('kept\n');
    await installation.events.until('started', (event) => event.id === `${id}:2:started`);
    expect(published(id)).toEqual(['1:created', '1:0', '1:1', '1:stopped', '2:started']);
    // With a clock that is ahead, a container being made for the pool would count as an orphan for too long.
    const states = async () => (await containers()).map(({ state }) => state);
    const running = async () => (await states()).filter((state) => state === 'running').length;
    await expect.poll(running, { timeout: POOL_FILLED_MS_MAX }).toBe(2);
    // After the grace period the remaining containers are removed: the computer's first, and the pooled ones.
    await testAgent.agent.reconciler.reconcile();
    await testAgent.pass(ORPHAN_GRACE_MS);
    await testAgent.agent.reconciler.reconcile();
    await expect.poll(states, { timeout: POOL_FILLED_MS_MAX }).toEqual(['running', 'running']);
    expect((await testAgent.exec(id, 'cat file')).stdout).toBe('kept\n');
  });

  test('killed, it leaves computers running, billed; once back, it ends them, billed to that moment', async () => {
    testAgent = await startAgent(NOON);
    const { id } = await testAgent.create();
    await testAgent.pass(70_000);
    await engine.kill9();
    expect((await testAgent.exec(id, 'echo here')).stdout).toBe('here\n');
    await testAgent.pass(60_000);
    expect(await testAgent.record(id)).toMatchObject({ state: 'running', minutes: 2 });
    await engine.restart();
    const record = await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record).toMatchObject({ stop_reason: 'exited', minutes: 3 });
    await installation.events.until('stopped', (event) => event.id === `${id}:1:stopped`);
    expect(published(id)).toEqual(['1:created', '1:0', '1:1', '1:2', '1:stopped']);
  });

  test('agent and engine down together: the computer is stopped, billed until it was last known to run', async () => {
    testAgent = await startAgent(NOON);
    const { id } = await testAgent.create();
    await testAgent.pass(70_000);
    await testAgent.agent.stop();
    await engine.restart();
    testAgent = await startAgent(NOON + 600_000);
    expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', stop_reason: 'exited', minutes: 2 });
    await installation.events.until('stopped', (event) => event.id === `${id}:1:stopped`);
    expect(published(id)).toEqual(['1:created', '1:0', '1:1', '1:stopped']);
  });
});
