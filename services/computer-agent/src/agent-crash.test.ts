// The agent is killed: its computers continue, no minute is lost or doubled, and the next agent finishes or undoes
// interrupted transitions.
import { once } from 'node:events';
import { readdir, rename } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { requestHost } from '@switchyard/bus';
import { type ComputerRecord, recordKey } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import Docker from 'dockerode';
import { describe, expect, test } from 'vitest';
import { openHeldEngine } from './__fixtures__/held-engine.ts';
import { LABEL_SLOT } from './docker/container-config.ts';
import { ORPHAN_GRACE_MS } from './lifecycle/reconciler.ts';
import { minuteCost } from './metering/minutes.ts';
import { defaultLimits, newTestRecord, openTestAgent, type TestAgent } from './test-agent.ts';
import { agentsInSuccession } from './test-succession.ts';

const limits = defaultLimits();

const agents = agentsInSuccession();

/** Starts an agent in a separate process, with its wall clock at `now`. */
const startDoomed = (now: number, killAfterEvent?: string) => agents.startDoomed({ now, killAfterEvent });

const minutesOf = (id: string) =>
  agents.installation.events
    .of('computer.metered')
    .filter(({ data }) => data.computer_id === id)
    .map(({ data }) => `${data.run}:${data.minute}`);

/** Expects that the run has no further events. */
const untilStopped = (id: string, run = 1) =>
  agents.installation.events.until('stopped', (event) => event.id === `${id}:${run}:stopped`);

/** For a computer whose first run has stopped. */
async function expectSettled(record: ComputerRecord, minutes: string[]): Promise<void> {
  await untilStopped(record.id);
  expect(minutesOf(record.id)).toEqual(minutes);
  expect(record.minutes).toBe(minutes.length);
  expect(record.cost_nano).toBe(String(minuteCost(record) * BigInt(minutes.length)));
}

/** Expects that the computer is gone, free of charge. */
async function expectTakenBack({ id, container }: ComputerRecord, next: TestAgent): Promise<void> {
  expect(await next.record(id)).toBeNull();
  expect(await containers()).not.toContain(container);
  expect(minutesOf(id)).toEqual([]);
}

const NOON = Date.parse('2026-11-21T12:00:00Z');

/** Creates a computer at noon and kills its agent later. Returns the record that the agent left. */
async function createAndKill(laterMs = 0, change: Partial<ComputerRecord> = {}): Promise<ComputerRecord> {
  const doomed = await startDoomed(NOON);
  const { id } = await doomed.host.create(change);
  await doomed.pass(laterMs);
  await doomed.kill();
  return (await doomed.host.record(id))!;
}

/**
 * Replaces the socket of a computer's init. The first client gets a greeting and nothing more; with `until`, it gets
 * the greeting only then.
 */
async function openDeafSocket({ container }: ComputerRecord, until?: Promise<void>): Promise<Server> {
  const folder = `${agents.dataFolder}/hosts/computer-agent/computers`;
  const { Config } = await new Docker().getContainer(container!).inspect();
  const path = `${folder}/control/${Config.Labels[LABEL_SLOT]}.sock`;
  const init = `${agents.dataFolder}/init.sock`; // the agent would remove unknown files in its own folder
  await rename(path, init);
  let callers = 0;
  const server = createServer((caller) => {
    callers += 1;
    const behind = connect(init);
    behind.pipe(caller);
    if (callers > 1) caller.pipe(behind);
    else if (until) void until.then(() => caller.pipe(behind));
    else caller.resume();
    caller.on('error', () => {}).once('close', () => behind.destroy());
    behind.on('error', () => {}).once('close', () => caller.destroy());
  });
  await once(server.listen(path), 'listening');
  return server;
}

test('a command after a crash waits for its own computer only, not for a slow other one', async () => {
  const doomed = await startDoomed(NOON);
  const { id: quick } = await doomed.host.create();
  const { id: slow } = await doomed.host.create();
  await doomed.kill();
  const heard = Promise.withResolvers<void>();
  const socket = await openDeafSocket((await doomed.host.record(slow))!, heard.promise);
  try {
    const starting = agents.startSuccessor(NOON + 1_000);
    const exec = (id: string) => {
      const request = { org: 'org_test', id, body: { command: 'echo here' } };
      return requestHost(agents.installation.bus, doomed.hostId, 'exec', request);
    };
    const served = async () => {
      // The agent may need longer to start than a call waits for one.
      await expect.poll(() => exec(quick)).toMatchObject({ stdout: 'here\n' });
      return 'served';
    };
    const first = await Promise.race([served(), starting.then(() => 'all are in order')]);
    expect(first).toBe('served');
    heard.resolve();
    await starting;
    expect(await exec(slow)).toMatchObject({ stdout: 'here\n' });
  } finally {
    heard.resolve();
    socket.close();
  }
});

test('a computer keeps its own idle time after a crash', async () => {
  const { id } = await createAndKill(30_000, { idle_stop_minutes: 4 });
  const next = await agents.startSuccessor(NOON + 31_000);
  await next.pass(209_999); // the second without an agent does not count
  expect((await next.record(id))?.state).toBe('running');
  await next.pass(1);
  const stopped = await next.recordWhen(id, ({ state }) => state === 'stopped');
  expect(stopped.stop_reason).toBe('idle');
});

test('an unreadable record: its computer is left alone, and another one is served', async () => {
  const doomed = await startDoomed(NOON);
  const { id } = await doomed.host.create();
  const { id: other } = await doomed.host.create();
  await doomed.host.exec(id, 'touch kept');
  await doomed.kill();
  const record = (await doomed.host.record(id))!;
  const { computers } = agents.installation;
  await computers.put(recordKey(record), { ...record, state: 'of a newer release' } as never);
  const next = await agents.startSuccessor(NOON + 1_000);
  expect((await next.exec(other, 'echo here')).stdout).toBe('here\n');
  await next.agent.reconciler.reconcile();
  await next.pass(ORPHAN_GRACE_MS);
  await next.agent.reconciler.reconcile();
  expect(await containers()).toContain(record.container);
  await next.agent.stop();
  expect(await containers()).toContain(record.container);

  await computers.put(recordKey(record), record);
  const last = await agents.startSuccessor(NOON + 40_000);
  expect((await last.exec(id, 'ls')).stdout).toBe('kept\n');
});

describe('minutes', () => {
  test('an init that does not answer a successor at first is asked again, and every minute counts', async () => {
    const record = await createAndKill(30_000);
    const { id } = record;
    const socket = await openDeafSocket(record);
    try {
      const next = await agents.startSuccessor(NOON + 31_000);
      await next.agent.reconciler.reconcile();
      await next.pass(29_000);
      await next.recordWhen(id, ({ minutes }) => minutes === 1);
      expect(await next.record(id)).toMatchObject({ state: 'running' });
      await next.pass(limits.idleStopMs);
      const stopped = await next.recordWhen(id, ({ state }) => state === 'stopped');
      expect(stopped.stop_reason).toBe('idle');
    } finally {
      socket.close();
    }
  });

  test('an agent killed in the middle of a minute: the next one continues its count', async () => {
    const { id } = await createAndKill(90_000);
    const next = await agents.startSuccessor(NOON + 95_000);
    expect((await next.record(id))?.minutes).toBe(1);
    expect((await next.exec(id, 'echo still here')).stdout).toBe('still here\n');
    await next.pass(24_999);
    await expect.poll(() => minutesOf(id)).toEqual(['1:0']);
    await next.pass(1);
    await next.recordWhen(id, ({ minutes }) => minutes === 2);
    await next.pass(1);
    await next.ask('stop', id);
    await expectSettled((await next.record(id))!, ['1:0', '1:1', '1:2']);
  });

  test('killed between the event of a minute and its record: charged once', async () => {
    const record = newTestRecord('host_unknown', limits);
    const doomed = await startDoomed(NOON, `${record.id}:1:0`);
    await doomed.host.create({ id: record.id });
    const gone = once(doomed.process, 'exit');
    doomed.process.send({ do: 'pass', ms: 60_000 });
    await gone;
    const next = await agents.startSuccessor(NOON + 61_000);
    expect((await next.record(record.id))?.run?.minutes_charged).toBe(0);
    await next.pass(1);
    await next.recordWhen(record.id, ({ minutes }) => minutes === 1);
    await next.ask('stop', record.id);
    await expectSettled((await next.record(record.id))!, ['1:0', '1:1']);
  });

  test('killed in the middle of a stop: finished with the minutes recorded at its start', async () => {
    const record = newTestRecord('host_unknown', limits);
    const doomed = await startDoomed(NOON, `${record.id}:1:1`);
    await doomed.host.create({ id: record.id });
    await doomed.pass(70_000);
    const gone = once(doomed.process, 'exit');
    const asked = doomed.host.ask('stop', record.id);
    asked.catch(() => {});
    await gone;
    const next = await agents.startSuccessor(NOON + 600_000);
    await expect(asked).rejects.toMatchObject({ code: 'service_unavailable' });
    const stopped = (await next.record(record.id))!;
    expect(stopped).toMatchObject({ state: 'stopped', stop_reason: 'user', container: null, run: null });
    await expectSettled(stopped, ['1:0', '1:1']);
  });

  test('an agent down for an hour: one minute is billed, and the idle window does not advance', async () => {
    const { id } = await createAndKill(30_000);
    const next = await agents.startSuccessor(NOON + 3_600_000);
    expect((await next.record(id))?.state).toBe('running');
    await next.pass(90_000); // 30 s + 60 s of silence + 90 s
    const record = await next.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record.stop_reason).toBe('idle');
    await expectSettled(record, ['1:0', '1:1', '1:2']);
  });

  test('a computer that ended without an agent is billed until it was last known to run', async () => {
    const { id, container } = await createAndKill(61_000);
    await new Docker().getContainer(container!).remove({ force: true });
    const next = await agents.startSuccessor(NOON + 600_000);
    const record = await next.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record.stop_reason).toBe('exited');
    await expectSettled(record, ['1:0', '1:1']);
  });
});

describe('transitions', () => {
  test('a creation that the agent did not finish is taken back, free of charge', async () => {
    const record = await createAndKill();
    // The state after a kill between the container's start and the record `running`.
    await agents.installation.computers.put(recordKey(record), { ...record, state: 'creating' });
    await expectTakenBack(record, await agents.startSuccessor(NOON + 1_000));
  });

  test('a start that the agent did not finish is taken back, free of charge; the files stay', async () => {
    const doomed = await startDoomed(NOON);
    const { id } = await doomed.host.create();
    await doomed.host.exec(id, 'echo kept > file');
    await doomed.host.ask('stop', id);
    await doomed.host.ask('start', id);
    await doomed.kill();
    const record = (await doomed.host.record(id))!;
    await agents.installation.computers.put(recordKey(record), { ...record, state: 'starting' });
    const next = await agents.startSuccessor(NOON + 1_000);
    expect(await next.record(id)).toMatchObject({ state: 'stopped', container: null, run: null, minutes: 1 });
    expect(await containers()).not.toContain(record.container);
    await next.ask('start', id);
    expect((await next.exec(id, 'cat file')).stdout).toBe('kept\n');
    await next.ask('stop', id);
    await untilStopped(id, 3);
    expect(minutesOf(id)).toEqual(['1:0', '3:0']);
  });

  test('a record that control marked `deleting` without a run is removed, free of charge', async () => {
    const record = await createAndKill(30_000);
    const deleting = { ...record, state: 'deleting', run: null } as const;
    await agents.installation.computers.put(recordKey(record), deleting);
    await expectTakenBack(record, await agents.startSuccessor(NOON + 40_000));
  });

  test('a container that no record names is removed after 30 s', async () => {
    const record = await createAndKill();
    await agents.installation.computers.delete(recordKey(record));
    const next = await agents.startSuccessor(NOON + 1_000);
    expect(await containers()).toContain(record.container);
    next.clock.advance(31_000);
    await next.agent.reconciler.reconcile();
    expect(await containers()).not.toContain(record.container);
  });
});

describe('commands', () => {
  test('a command continues, and a repeated request with the same id gets its result', async () => {
    const doomed = await startDoomed(NOON);
    const { id } = await doomed.host.create();
    const { org } = (await doomed.host.record(id))!;
    const body = {
      command: 'echo one >> runs; touch begun; until [ -e go ]; do sleep 0.01; done; cat runs; exit 5',
    };
    const ask = () =>
      requestHost(
        agents.installation.bus,
        doomed.hostId,
        'exec',
        { org, id, body },
        { requestId: 'req_survivor' },
      );
    const first = ask();
    first.catch(() => {});
    await expect.poll(() => doomed.host.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    await doomed.kill();
    const next = await agents.startSuccessor(NOON + 2_000);
    await expect(first).rejects.toMatchObject({ code: 'service_unavailable' });
    const again = ask();
    await next.exec(id, 'touch go');
    expect(await again).toMatchObject({ stdout: 'one\n', exit_code: 5 });
  });

  test('a command that is not requested again is stopped, as when its caller disconnects', async () => {
    const doomed = await startDoomed(NOON);
    const { id } = await doomed.host.create();
    const first = doomed.host.exec(id, 'touch begun; sleep 1000');
    first.catch(() => {});
    await expect.poll(() => doomed.host.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    await doomed.kill();
    const next = await agents.startSuccessor(NOON + 2_000);
    const sleeping = async () => (await next.exec(id, 'pgrep -c sleep')).stdout;
    await expect.poll(sleeping).toBe('1\n');
    await next.pass(30_000);
    await expect.poll(sleeping).toBe('0\n');
  });
});

describe('the end of an agent', () => {
  test('keep: computers run on; stop: they are stopped, files kept, and charged to that moment', async () => {
    const first = await agents.startSuccessor(NOON);
    const { id } = await first.create();
    await first.exec(id, 'echo kept > file');
    await first.agent.stop();
    expect((await first.record(id))?.state).toBe('running');
    const second = await agents.startSuccessor(NOON + 5_000, { SWITCHYARD_COMPUTERS_ON_SHUTDOWN: 'stop' });
    expect((await second.exec(id, 'cat file')).stdout).toBe('kept\n');
    await second.agent.stop();
    const record = (await second.record(id))!;
    expect(record).toMatchObject({ state: 'stopped', stop_reason: 'host_lost', minutes: 1 });
    const third = await agents.startSuccessor(NOON + 10_000);
    await third.ask('start', id);
    expect((await third.exec(id, 'cat file')).stdout).toBe('kept\n');
  });

  test('stop: a computer being created is stopped as well, and leaves no container', async () => {
    const { id } = newTestRecord('host_unknown', limits);
    const { agent, engine, ours, close } = await openStoppingAgent();
    try {
      const asked = engine.hold(/^POST .*\/containers\/\w+\/start/);
      agent.create({ id }).catch(() => {});
      await asked;
      const [creation] = agent.agent.computers.all()[0]!.beginnings;
      const stopped = agent.agent.stop();
      // Commands may finish for a while; the engine needs longer.
      const isCancelled = () => {
        agent.clock.advance(1_000);
        return creation?.signal.aborted;
      };
      await expect.poll(isCancelled).toBe(true);
      engine.release();
      await stopped;
      expect(await agent.record(id)).toMatchObject({ state: 'stopped', container: null });
      expect(await ours()).toEqual([]);
    } finally {
      await close();
      await agents.startSuccessor(NOON + 120_000); // clears up
    }
  });

  test('a creation that control takes back while its container starts is undone, also after a reconciliation', async () => {
    const { id } = newTestRecord('host_unknown', limits);
    const { agent, engine, ours, close } = await openStoppingAgent();
    try {
      const asked = engine.hold(/^POST .*\/containers\/\w+\/start/);
      const created = expect(agent.create({ id })).rejects.toMatchObject({ code: 'computer_not_found' });
      await asked;
      const record = (await agent.record(id))!;
      const deleting = { ...record, state: 'deleting', run: null } as const;
      await agents.installation.computers.put(recordKey(record), deleting);
      await agent.agent.reconciler.reconcile();
      engine.release();
      await created;
      expect(await ours()).toEqual([]);
      await expectTakenBack(record, agent);
      await agent.agent.stop();
    } finally {
      await close();
    }
  });

  test('stop: a container that the engine did not remove with its computer is removed at the end', async () => {
    const { agent, engine, ours, close } = await openStoppingAgent();
    try {
      const { id } = await agent.create();
      engine.fail(/^DELETE .*\/containers\//);
      await agent.ask('stop', id);
      expect(await ours()).toHaveLength(1);
      engine.release();
      await agent.agent.stop();
      expect(await ours()).toEqual([]);
      expect(await readdir(`${agents.dataFolder}/hosts/computer-agent/computers/slots`)).toEqual([]);
      expect(await agent.record(id)).toMatchObject({ state: 'stopped', container: null, minutes: 1 });
    } finally {
      await close();
    }
  });

  test('stop: a computer whose stop failed midway is stopped at the end', async () => {
    const { agent, engine, close } = await openStoppingAgent();
    try {
      const { id } = await agent.create();
      const container = (await agent.record(id))?.container ?? '';
      const { State } = await new Docker().getContainer(container).inspect();
      process.kill(State.Pid, 'SIGSTOP'); // its init does not answer, so the engine is needed
      engine.fail(/^POST .*\/containers\/\w+\/stop/);
      await expect(agent.ask('stop', id)).rejects.toMatchObject({ code: 'computer_failed' });
      expect(await agent.record(id)).toMatchObject({ state: 'stopping' });
      engine.release();
      await agent.agent.stop();
      expect(await agent.record(id)).toMatchObject({ state: 'stopped', container: null, minutes: 1 });
    } finally {
      await close();
    }
  });
});

/** An agent that stops its computers when it stops, on an engine that the test may hold back. */
async function openStoppingAgent() {
  const engine = await openHeldEngine();
  const agent = await openTestAgent(agents.installation, {
    dataFolder: agents.dataFolder,
    clock: new FakeClock(NOON),
    docker: engine.docker,
    env: { SWITCHYARD_COMPUTERS_ON_SHUTDOWN: 'stop' },
  });
  const filters = { label: [`switchyard.agent=${agent.agent.hostId}`] };
  return {
    agent,
    engine,
    /** The containers of this agent. */
    ours: () => new Docker().listContainers({ all: true, filters }),
    async close() {
      await agent.bus.close();
      await engine.close();
    },
  };
}

async function containers(): Promise<string[]> {
  return (await new Docker().listContainers({ all: true })).map(({ Id }) => Id);
}
