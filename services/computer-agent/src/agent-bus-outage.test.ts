// The bus is unavailable while computers run: they continue, no minute is lost or doubled, and unreachable time is not
// billed.
import { recordKey } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  defaultLimits,
  newTestRecord,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

/** Timeout for all clients to reconnect. */
const BACK_MS_MAX = 60_000;

let installation: TestInstallation;
let testAgent: TestAgent;

beforeAll(async () => {
  installation = await openTestInstallation();
  testAgent = await openTestAgent(installation);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await testAgent?.close();
  await installation?.stop();
});

/** Expects each of these minutes once in the stream. One from the outbox may arrive after the end of the run. */
async function expectMinutes(id: string, expected: string[], last: string): Promise<void> {
  const { events } = installation;
  await events.until(last, (event) => event.id === `${id}:${last}`);
  const minutes = () =>
    events
      .of('computer.metered')
      .filter(({ data }) => data.computer_id === id)
      .map(({ data }) => `${data.run}:${data.minute}`)
      .toSorted();
  await expect.poll(minutes).toEqual(expected);
}

test('for an hour: a minute of it is billed', async () => {
  const { id } = await testAgent.create();
  const running = testAgent.exec(id, 'sleep 1000'); // keeps the computer busy
  running.catch(() => {});
  await testAgent.exec(id, 'true'); // the first runs when the second has answered
  await testAgent.pass(10_000);
  testAgent.clock.advance(3_600_000); // no heartbeat is heard
  await testAgent.agent.heartbeat.beat();
  await testAgent.ask('stop', id);
  await expectMinutes(id, ['1:0', '1:1'], '1:stopped');
  expect((await testAgent.record(id))?.minutes).toBe(2);
});

test('killed when a minute ends: it is charged once, the computer runs on, commands work again', async () => {
  const { id } = await testAgent.create();
  await testAgent.pass(30_000);
  const [computer] = testAgent.agent.computers.all().filter((one) => one.id === id);
  await installation.nats.kill9();
  testAgent.clock.advance(30_000);
  await computer!.settled(); // the event waits in the outbox, the record could not be written
  await installation.nats.restart();
  await expect
    .poll(() => testAgent.exec(id, 'echo here').catch(() => null), { timeout: BACK_MS_MAX })
    .toMatchObject({
      stdout: 'here\n',
    });
  await testAgent.pass(1_000);
  await testAgent.recordWhen(id, ({ minutes }) => minutes === 1);
  await testAgent.ask('stop', id);
  await expectMinutes(id, ['1:0', '1:1'], '1:stopped');
  expect((await testAgent.record(id))?.minutes).toBe(2);
});

/** A computer whose container ends by itself after 50 s, 20 s ago, while the bus is unavailable. */
async function endedDuringOutage(): Promise<string> {
  const { id } = await testAgent.create();
  await testAgent.pass(50_000);
  const container = (await testAgent.record(id))?.container;
  const [computer] = testAgent.agent.computers.all().filter((one) => one.id === id);
  await installation.nats.kill9();
  await testAgent.docker.getContainer(container!).kill();
  await expect.poll(() => computer!.changing, { interval: 1 }).toBe(true);
  await computer!.settled();
  testAgent.clock.advance(20_000); // its end is retried, and a minute would have ended
  await computer!.settled();
  await installation.nats.restart();
  return id;
}

test('a computer that ends by itself meanwhile is billed to that moment, however late that is recorded', async () => {
  const id = await endedDuringOutage();
  const end = async () => {
    await testAgent.pass(1_000);
    return testAgent.record(id);
  };
  await expect
    .poll(() => end().catch(() => null), { timeout: BACK_MS_MAX })
    .toMatchObject({ state: 'stopped', stop_reason: 'exited', minutes: 1 });
  await expectMinutes(id, ['1:0'], '1:stopped');
});

test('a computer that ends by itself meanwhile and is stopped before that is written: billed to its own end', async () => {
  const id = await endedDuringOutage();
  await expect
    .poll(() => testAgent.ask('stop', id).catch(() => null), { timeout: BACK_MS_MAX })
    .toMatchObject({ status: 'stopped', stop_reason: 'exited', minutes: 1 });
  await expectMinutes(id, ['1:0'], '1:stopped');
});

/**
 * From now on, the agent's writes of a record fail.
 * @param first the first one that fails contains this, and is stored nevertheless
 * @returns ends it
 */
function failWrites(id: string, first?: string): () => void {
  const { js } = testAgent.bus;
  const publish = js.publish.bind(js);
  let away = first === undefined;
  js.publish = async (subject, payload, options) => {
    if (!(subject.startsWith('$KV.computers.') && subject.endsWith(id)))
      return publish(subject, payload, options);
    if (away) throw new Error('of the test');
    const ack = await publish(subject, payload, options);
    away = String(payload).includes(first!);
    if (away) throw new Error('of the test');
    return ack;
  };
  return () => {
    js.publish = publish;
  };
}

test('for minutes in which the computer is deleted: its last minute is the one that control charged', async () => {
  const { id } = await testAgent.create();
  const running = testAgent.exec(id, 'sleep 1000'); // keeps the computer busy
  running.catch(() => {});
  await testAgent.exec(id, 'true'); // the first runs when the second has answered
  await testAgent.pass(59_600);
  const back = failWrites(id);
  testAgent.clock.advance(600_000); // no heartbeat is heard: 60 s are billed
  await testAgent.agent.heartbeat.beat();
  await testAgent.agent.reconciler.reconcile();
  await installation.events.until('minute', (event) => event.id === `${id}:1:0`);
  const record = (await testAgent.record(id))!;
  expect(record).toMatchObject({ state: 'running', minutes: 0 });
  // As control deletes a computer of a silent host.
  const deleted = { ...record, state: 'deleting', minutes: 1, run: null } as const;
  await installation.computers.put(recordKey(record), deleted);
  back();
  await testAgent.pass(1_000); // the next minute would end
  await expect.poll(() => testAgent.record(id)).toBeNull();
  await expectMinutes(id, ['1:0'], '1:deleted');
});

test('in the last write of a creation, which is stored: the computer is taken back, free of charge', async () => {
  const { id } = newTestRecord('host_unknown', defaultLimits());
  const back = failWrites(id, '"state":"running"');
  await expect(testAgent.create({ id })).rejects.toMatchObject({ code: 'service_unavailable' });
  back();
  expect(await testAgent.record(id)).toMatchObject({ state: 'running' });
  await testAgent.agent.reconciler.reconcile();
  expect(await testAgent.record(id)).toBeNull();
  // The stream has no event of it, and events of others after that.
  const { id: next } = await testAgent.create();
  await installation.events.until('created', (event) => event.id === `${next}:1:created`);
  expect(installation.events.all.filter((event) => event.id.startsWith(id))).toEqual([]);
});
