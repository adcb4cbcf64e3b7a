// The life of a host's computers on a real nats-server and the real Docker engine, with a clock that the test
// controls: answers, charges, and automatic stops.
import { access, readdir, readFile, rm } from 'node:fs/promises';
import { openReply, requestHost } from '@switchyard/bus';
import {
  type ComputerRecord,
  type ExecRequest,
  hostSubject,
  recordKey,
  type ServiceError,
} from '@switchyard/contracts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openHeldEngine } from './__fixtures__/held-engine.ts';
import { LABEL_AGENT, LABEL_SLOT } from './docker/container-config.ts';
import { deleteComputer } from './lifecycle/transitions.ts';
import { minuteCost } from './metering/minutes.ts';
import {
  defaultLimits,
  diskOf,
  newTestRecord,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

/** A command that is to be cut short comes first as far as it is to come. */
const CUT_AFTER_S = 10;

let installation: TestInstallation;
let testAgent: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
  testAgent = await openTestAgent(installation, { env: { SWITCHYARD_WARM_POOL: '2' } });
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await testAgent?.close();
  await installation?.stop();
});

afterEach(async () => {
  for (const computer of testAgent.agent.computers.all()) await deleteComputer(computer);
});

/** Charged minutes of a computer as `<run>:<minute>`, in the order of the stream. */
const chargedMinutes = (id: string) =>
  installation.events
    .of('computer.metered')
    .filter(({ data }) => data.computer_id === id)
    .map(({ data }) => `${data.run}:${data.minute}`);

const changes = (id: string) =>
  installation.events.all
    .filter(
      ({ type, data }) => type !== 'computer.metered' && 'computer_id' in data && data.computer_id === id,
    )
    .map(({ type, data }) =>
      'stop_reason' in data && data.stop_reason !== null ? `${type}(${data.stop_reason})` : type,
    );

/** Expects that the run has no further events. */
const untilStopped = (id: string, run = 1) =>
  installation.events.until('stopped', (event) => event.id === `${id}:${run}:stopped`);

/** Expects every minute of the ledger in the record, at its price, once the last run has stopped. */
async function expectSettled(record: ComputerRecord, minutes: number): Promise<void> {
  await untilStopped(record.id, record.runs);
  expect(record.minutes).toBe(minutes);
  expect(record.cost_nano).toBe(String(minuteCost(record) * BigInt(minutes)));
  expect(chargedMinutes(record.id)).toHaveLength(minutes);
  expect(new Set(chargedMinutes(record.id)).size).toBe(minutes);
}

describe('a creation whose record came along', () => {
  const fates = {
    'was deleted since': (key: string) => installation.computers.delete(key),
    'was taken back since': (key: string, record: ComputerRecord) =>
      installation.computers.put(key, { ...record, state: 'deleting' }),
  };
  test.each(Object.entries(fates))(
    'and %s: there is no such computer, and nothing is left of it',
    async (_, befall) => {
      const record = newTestRecord(testAgent.agent.hostId, defaultLimits());
      const { org, id } = record;
      const key = recordKey(record);
      const revision = await installation.computers.create(key, record);
      await befall(key, record);
      const asked = requestHost(installation.bus, testAgent.agent.hostId, 'create', {
        org,
        id,
        made: { record, revision },
      });
      await expect(asked).rejects.toMatchObject({ code: 'computer_not_found' });
      expect(testAgent.agent.computers.has(key)).toBe(false);
      await expect(diskOf(testAgent.dataFolder, id)).rejects.toMatchObject({ code: 'ENOENT' });
      const left = (await installation.computers.get(key))?.value ?? null;
      if (left) expect(left).toMatchObject({ host: 'host_other', container: null });
      expect(changes(id)).not.toContain('computer.created');
      expect(chargedMinutes(id)).toEqual([]);
      const filters = { label: [`${LABEL_AGENT}=${testAgent.agent.hostId}`] };
      const slots = `${testAgent.dataFolder}/hosts/computer-agent/computers/slots`;
      const withoutContainer = async () => {
        const names = await readdir(slots);
        const found = await testAgent.docker.listContainers({ all: true, filters });
        return names.filter((name) => found.every(({ Labels }) => Labels[LABEL_SLOT] !== name));
      };
      await expect.poll(withoutContainer).toEqual([]); // one may be made for the pool
    },
  );

  test('and is of another org or computer: the store is read, which has none', async () => {
    const record = newTestRecord(testAgent.agent.hostId, defaultLimits());
    const made = { record, revision: 1 };
    for (const named of [
      { org: record.org, id: 'cmp_other' },
      { org: 'org_other', id: record.id },
    ]) {
      const asked = requestHost(installation.bus, testAgent.agent.hostId, 'create', { ...named, made });
      await expect(asked).rejects.toMatchObject({ code: 'computer_not_found' });
    }
  });
});

describe('a life', () => {
  test('create, exec, stop, start, exec, delete: files survive a stop and are gone after a delete', async () => {
    const created = await testAgent.create();
    expect(created).toMatchObject({
      object: 'computer',
      status: 'running',
      minutes: 0,
      cost: 0,
      stop_reason: null,
    });
    const { id } = created;
    expect(
      await testAgent.exec(id, "echo kept > file; python3 -c 'print(6*7)'; echo err >&2; exit 3"),
    ).toMatchObject({
      stdout: '42\nerr\n',
      stderr: '',
      exit_code: 3,
    });
    const stopped = await testAgent.ask('stop', id);
    expect(stopped).toMatchObject({ status: 'stopped', stop_reason: 'user', minutes: 1, stops_at: null });
    await expect(testAgent.exec(id, 'true')).rejects.toMatchObject({ code: 'computer_not_running' });
    const started = await testAgent.ask('start', id);
    expect(started).toMatchObject({ status: 'running', stop_reason: null, minutes: 1 });
    expect((await testAgent.exec(id, 'cat file')).stdout).toBe('kept\n');
    const disk = await diskOf(testAgent.dataFolder, id);
    expect(await readFile(`${disk.files}/file`, 'utf8')).toBe('kept\n');

    await testAgent.delete(id);
    expect(await testAgent.record(id)).toBeNull();
    await expect(access(disk.image)).rejects.toThrow('ENOENT');
    await expect(testAgent.exec(id, 'true')).rejects.toMatchObject({ code: 'computer_not_found' });
    await installation.events.until('deleted', ({ id: event }) => event === `${id}:2:deleted`);
    expect(changes(id)).toEqual([
      'computer.created',
      'computer.stopped(user)',
      'computer.started',
      'computer.deleted',
    ]);
    expect(chargedMinutes(id)).toEqual(['1:0', '2:0']);
  });

  test('a start of a running and a stop of a stopped computer return it unchanged', async () => {
    const { id } = await testAgent.create();
    const container = (await testAgent.record(id))?.container;
    expect(await testAgent.ask('start', id)).toMatchObject({ status: 'running' });
    expect(await testAgent.ask('create', id)).toMatchObject({ status: 'running' });
    expect((await testAgent.record(id))?.container).toBe(container);
    await testAgent.ask('stop', id);
    expect(await testAgent.ask('stop', id)).toMatchObject({
      status: 'stopped',
      stop_reason: 'user',
      minutes: 1,
    });
    await untilStopped(id);
    expect(chargedMinutes(id)).toEqual(['1:0']);
  });

  test('many starts and stops at once leave one container and one truth', async () => {
    const { id } = await testAgent.create();
    await Promise.all(
      Array.from({ length: 12 }, (_, turn) => testAgent.ask(turn % 2 === 0 ? 'stop' : 'start', id)),
    );
    const record = (await testAgent.record(id))!;
    const found = await testAgent.docker.listContainers({ all: true });
    const own = found.filter(({ Id }) => Id === record.container);
    expect(own).toHaveLength(record.state === 'running' ? 1 : 0);
    await testAgent.delete(id);
    await installation.events.until('deleted', ({ id: event }) => event === `${id}:${record.runs}:deleted`);
    expect(changes(id).filter((change) => change === 'computer.started').length).toBe(record.runs - 1);
  });

  test('a start whose minutes control would refuse is refused, and is possible 10 s later', async () => {
    const { id } = await testAgent.create({ runs: 98 });
    const startAgain = async () => {
      await testAgent.ask('stop', id);
      return testAgent.ask('start', id);
    };
    expect(await startAgain()).toMatchObject({ status: 'running' });
    await expect(startAgain()).rejects.toMatchObject({ code: 'rate_limited', retryAfterS: 10 });
    expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', runs: 100, run: null });
    await testAgent.pass(10_000);
    expect(await startAgain()).toMatchObject({ status: 'running' });
    await expect(startAgain()).rejects.toMatchObject({ code: 'rate_limited' });
  });

  test('an id of another org, or none at all, is not found', async () => {
    for (const verb of ['start', 'stop'] as const)
      await expect(testAgent.ask(verb, 'cmp_nobody')).rejects.toMatchObject({ code: 'computer_not_found' });
    await expect(testAgent.delete('cmp_nobody')).rejects.toMatchObject({ code: 'computer_not_found' });
  });

  test('a computer whose files are lost is in state `error` and can be deleted', async () => {
    const { id } = await testAgent.create();
    await testAgent.ask('stop', id);
    await rm((await diskOf(testAgent.dataFolder, id)).image);
    await expect(testAgent.ask('start', id)).rejects.toMatchObject({ code: 'computer_failed' });
    expect(await testAgent.record(id)).toMatchObject({
      state: 'error',
      error: expect.stringContaining('files'),
    });
    await testAgent.delete(id);
    expect(await testAgent.record(id)).toBeNull();
  });
});

describe('minutes', () => {
  test('each is charged when it ends, the begun one when the run ends, none twice', async () => {
    const { id } = await testAgent.create();
    await testAgent.pass(59_999);
    await testAgent.exec(id, 'true');
    expect((await testAgent.record(id))?.minutes).toBe(0);
    await testAgent.pass(1);
    const first = await testAgent.recordWhen(id, ({ minutes }) => minutes === 1);
    expect(first.run).toMatchObject({ number: 1, minutes_charged: 1 });
    await testAgent.pass(60_000);
    await testAgent.recordWhen(id, ({ minutes }) => minutes === 2);
    await testAgent.pass(1);
    const stopped = await testAgent.ask('stop', id);
    expect(stopped.minutes).toBe(3);
    await testAgent.pass(600_000); // a stopped computer costs nothing
    await testAgent.ask('start', id);
    await testAgent.ask('stop', id);
    const record = (await testAgent.record(id))!;
    await expectSettled(record, 4);
    expect(chargedMinutes(id)).toEqual(['1:0', '1:1', '1:2', '2:0']);
    // 0.0001 + 0.25 x 0.0008 + 0.5 x 0.0001 + 10 x 0.000002 dollars
    expect(record.cost_nano).toBe(String(4 * 370_000));
    expect(stopped.cost).toBe(0.00111);
  });

  test('a run that stops exactly with a minute is not charged the next', async () => {
    const { id } = await testAgent.create();
    await testAgent.pass(60_000);
    await testAgent.recordWhen(id, ({ minutes }) => minutes === 1);
    expect((await testAgent.ask('stop', id)).minutes).toBe(1);
    await expectSettled((await testAgent.record(id))!, 1);
  });

  test('a deleted computer is charged to its end', async () => {
    const { id } = await testAgent.create();
    await testAgent.pass(61_000);
    await testAgent.recordWhen(id, ({ minutes }) => minutes === 1);
    await testAgent.delete(id);
    await installation.events.until('deleted', (event) => event.id === `${id}:1:deleted`);
    expect(chargedMinutes(id)).toEqual(['1:0', '1:1']);
  });

  test('the price is the one that the record froze', async () => {
    const rates = {
      per_minute: '1',
      per_vcpu_minute: '0.1',
      per_gb_memory_minute: '0.01',
      per_gb_disk_minute: '0',
    };
    const { id } = await testAgent.create({ rates, cpu: 0.5, memory_mb: 768 });
    const { cost } = await testAgent.ask('stop', id);
    expect(cost).toBe(1.0575);
  });
});

describe('stopping by itself', () => {
  test('a computer with many short commands has its activity written every 5 s, the last one too', async () => {
    const { id } = await testAgent.create();
    const lastActivity = async () => Date.parse((await testAgent.record(id))?.last_activity_at ?? '');
    await testAgent.pass(1_000);
    await testAgent.exec(id, 'true');
    const first = testAgent.clock.now();
    await testAgent.pass(1_000);
    expect(await lastActivity()).toBe(first);
    for (let i = 0; i < 3; i++) {
      await testAgent.exec(id, 'true');
      await testAgent.pass(1_000);
      expect(await lastActivity()).toBe(first);
    }
    const last = testAgent.clock.now() - 1_000;
    await testAgent.pass(5_000);
    expect(await lastActivity()).toBe(last);
  });

  test('one that becomes busy is recorded as busy within a second, however recent the last write', async () => {
    const { id } = await testAgent.create();
    await testAgent.pass(1_000);
    await testAgent.exec(id, 'true');
    await testAgent.pass(1_000);
    await testAgent.exec(id, 'true'); // its idle time now waits to be written
    await testAgent.pass(1_000);
    const running = testAgent.exec(id, 'touch begun; until [ -e go ]; do sleep 0.01; done');
    await expect.poll(() => testAgent.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    await testAgent.pass(1_000);
    expect((await testAgent.record(id))?.last_activity_at).toBeNull();
    await testAgent.exec(id, 'touch go');
    await running;
    await testAgent.pass(1_000);
    expect(Date.parse((await testAgent.record(id))?.last_activity_at ?? '')).toBe(
      testAgent.clock.now() - 1_000,
    );
  });

  test('after the idle window, which a command restarts and a read does not; the window is charged', async () => {
    const { id } = await testAgent.create();
    await testAgent.pass(90_000);
    await testAgent.exec(id, 'true');
    await testAgent.pass(1_000);
    const { state, last_activity_at } = (await testAgent.record(id))!;
    expect(state).toBe('running');
    expect(Date.parse(last_activity_at!)).toBe(testAgent.clock.now() - 1_000);
    await testAgent.pass(99_000);
    await testAgent.ask('start', id); // returns it unchanged: does not count as activity
    expect((await testAgent.record(id))?.state).toBe('running');
    await testAgent.pass(20_000);
    const record = await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record.stop_reason).toBe('idle');
    await expectSettled(record, 4); // 90 s + 120 s
    expect(changes(id)).toEqual(['computer.created', 'computer.stopped(idle)']);
  });

  test('after its own idle time, in every run', async () => {
    const { id } = await testAgent.create({ idle_stop_minutes: 4 });
    await testAgent.pass(239_999);
    expect((await testAgent.record(id))?.state).toBe('running');
    await testAgent.pass(1);
    const record = await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record).toMatchObject({ stop_reason: 'idle', minutes: 4 });
    expect(await testAgent.ask('start', id)).toMatchObject({
      idle_stop_minutes: 4,
      stops_at: new Date(testAgent.clock.now() + 240_000).toISOString(),
    });
    await testAgent.pass(239_999);
    expect((await testAgent.record(id))?.state).toBe('running');
    await testAgent.pass(1);
    await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
  });

  test('not when a command came before that, however late its turn is', async () => {
    const { id } = await testAgent.create();
    const [computer] = testAgent.agent.computers.all().filter((one) => one.id === id);
    const gate = Promise.withResolvers<void>();
    void computer!.lock.run(() => gate.promise);
    const command = testAgent.exec(id, 'echo here');
    command.catch(() => {}); // awaited below
    try {
      await expect.poll(() => computer!.lock.pending).toBe(2);
      testAgent.clock.advance(120_000);
      expect(computer!.lock.pending).toBe(3);
    } finally {
      gate.resolve();
    }
    expect(await command).toMatchObject({ stdout: 'here\n' });
    expect(await testAgent.record(id)).toMatchObject({ state: 'running' });
  });

  test('not while a command runs, however long', async () => {
    const { id } = await testAgent.create();
    const running = testAgent.exec(id, 'touch begun; until [ -e go ]; do sleep 0.01; done');
    await expect.poll(() => testAgent.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    await testAgent.pass(600_000);
    expect((await testAgent.record(id))?.state).toBe('running');
    await testAgent.exec(id, 'touch go');
    expect((await running).exit_code).toBe(0);
    await testAgent.pass(120_000);
    expect((await testAgent.recordWhen(id, ({ state }) => state === 'stopped')).stop_reason).toBe('idle');
  });

  test('at the end of its lifetime, even while a command runs; it may be started again', async () => {
    const short = await openTestAgent(installation, { env: { SWITCHYARD_MAX_LIFETIME_MINUTES: '1.5' } });
    try {
      const { id, stops_at, created_at } = await short.create({
        created_at: new Date(short.clock.now()).toISOString(),
      });
      expect(Date.parse(stops_at!) - Date.parse(created_at)).toBe(90_000);
      const running = short.exec(id, 'touch begun; sleep 1000');
      running.catch(() => {}); // awaited below
      await expect.poll(() => short.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
      await short.pass(90_000);
      const record = await short.recordWhen(id, ({ state }) => state === 'stopped');
      expect(record).toMatchObject({ stop_reason: 'max_lifetime', minutes: 2 });
      expect((await running).exit_code).toBe(143); // the kernel's word: ended by SIGTERM
      expect(await short.ask('start', id)).toMatchObject({ status: 'running' });
      await short.pass(60_000);
      expect((await short.record(id))?.state).toBe('running');
    } finally {
      await short.close();
    }
  });

  test('when its container is removed behind the agent’s back', async () => {
    const { id } = await testAgent.create();
    const { container } = (await testAgent.record(id))!;
    await testAgent.docker.getContainer(container!).remove({ force: true });
    const record = await testAgent.recordWhen(id, ({ state }) => state === 'stopped');
    expect(record).toMatchObject({ stop_reason: 'exited', minutes: 1, container: null });
    expect(await testAgent.ask('start', id)).toMatchObject({ status: 'running' });
  });
});

describe('commands', () => {
  test('a timeout is 422 with the output so far, and ends the whole process tree', async () => {
    const { id } = await testAgent.create();
    const command = 'echo so far; setsid sleep 1000 & sleep 1000';
    const failed = testAgent.exec(id, { command, timeout: CUT_AFTER_S });
    await expect(failed).rejects.toMatchObject({
      code: 'command_timed_out',
      details: { stdout: 'so far\n', duration_ms: expect.any(Number) },
    });
    expect((await testAgent.exec(id, 'pgrep -c sleep')).stdout).toBe('0\n');
  });

  test('a timeout with a megabyte of output arrives too', async () => {
    const { id } = await testAgent.create();
    const failed = testAgent.exec(id, {
      command: 'head -c 1000000 /dev/zero | tr "\\0" "\\1"; sleep 1000',
      timeout: CUT_AFTER_S,
    });
    await expect(failed).rejects.toMatchObject({ code: 'command_timed_out', details: { truncated: true } });
  });

  test('a timeout of a streamed command comes after all of its output, however late that is read', async () => {
    const { id } = await testAgent.create();
    const [bytes, timeout] = [700_000, CUT_AFTER_S]; // more than the bus takes before it is read
    const command = `sleep 1000 & touch begun; head -c ${bytes} /dev/zero; wait`;
    const { body } = await openReply(installation.bus, {
      subject: hostSubject(testAgent.agent.hostId, 'exec-stream'),
      head: { request_id: 'req_late', org: 'org_test', id },
      body: Buffer.from(JSON.stringify({ command, timeout } satisfies ExecRequest)),
    });
    const sleeping = async () => (await testAgent.exec(id, 'pgrep -c sleep')).stdout;
    await expect.poll(() => testAgent.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    await expect.poll(sleeping).toBe('0\n');
    let read = 0;
    const reading = async () => {
      for await (const chunk of body) read += chunk.length;
    };
    await expect(reading()).rejects.toMatchObject({ code: 'command_timed_out' });
    expect(read).toBe(bytes);
  });

  test('a caller’s disconnect stops its command', async () => {
    const { id } = await testAgent.create();
    const gone = new AbortController();
    const running = testAgent.exec(id, 'touch begun; sleep 1000', gone.signal);
    running.catch(() => {});
    await expect.poll(() => testAgent.exec(id, 'ls begun')).toMatchObject({ exit_code: 0 });
    gone.abort(new Error('gone'));
    await expect.poll(async () => (await testAgent.exec(id, 'pgrep -c sleep')).stdout).toBe('0\n');
  });

  test('output over the limit is cut, `truncated`', async () => {
    const { id } = await testAgent.create();
    const { stdout, truncated } = await testAgent.exec(id, 'yes | head -c 3000000');
    expect(truncated).toBe(true);
    expect(stdout.length).toBe(1024 * 1024);
  });

  test('cwd, env and stdin are given; 64 KB of command runs', async () => {
    const { id } = await testAgent.create();
    const result = await testAgent.exec(id, {
      command: 'pwd; echo $A; cat',
      cwd: '/tmp',
      env: { A: 'b' },
      stdin: 'in',
    });
    expect(result.stdout).toBe('/tmp\nb\nin');
    const command = `echo ${'x'.repeat(65_536 - 5)}`;
    expect((await testAgent.exec(id, command)).stdout.length).toBe(65_536 - 4);
    await expect(testAgent.exec(id, `${command}x`)).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'body.command',
    });
    await expect(testAgent.exec(id, { command: 'true', timeout: 3_601 })).rejects.toMatchObject({
      param: 'timeout',
    });
  });
});

describe('capacity', () => {
  test('128 calls wait for a computer that is starting, further ones are refused', async () => {
    const engine = await openHeldEngine();
    const slow = await openTestAgent(installation, { docker: engine.docker });
    try {
      const { id } = await slow.create();
      await slow.ask('stop', id);
      const asked = engine.hold(/^POST .*\/containers\/\w+\/start/);
      const started = slow.ask('start', id);
      await asked;
      const codes: string[] = [];
      const calls = Array.from({ length: 130 }, () =>
        slow.exec(id, 'true').catch(({ code }: ServiceError) => void codes.push(code)),
      );
      await expect.poll(() => codes).toEqual(Array(3).fill('rate_limited')); // the start has a place as well
      engine.release();
      expect(await started).toMatchObject({ status: 'running' });
      await Promise.all(calls);
      expect(codes).toHaveLength(3);
    } finally {
      engine.release();
      await slow.close();
      await engine.close();
    }
  });

  test('what does not fit is refused, and a stopped computer makes room', async () => {
    const small = await openTestAgent(installation, { env: { SWITCHYARD_CPU_OVERCOMMIT: '0.25' } });
    try {
      const cores = (await small.docker.info()).NCPU as number;
      const cpu = cores * 0.25;
      const first = await small.create({ cpu });
      await expect(small.create({ cpu: 0.25 })).rejects.toMatchObject({ code: 'no_capacity' });
      await small.ask('stop', first.id);
      const second = await small.create({ cpu: 0.25 });
      await expect(small.ask('start', first.id)).rejects.toMatchObject({ code: 'no_capacity' });
      expect((await small.record(first.id))?.state).toBe('stopped');
      await small.delete(second.id);
      expect(await small.ask('start', first.id)).toMatchObject({ status: 'running' });
    } finally {
      await small.close();
    }
  });
});
