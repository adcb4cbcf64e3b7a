// Computers under spending limits: real nats-server and Docker engine, a clock that the test controls, and a fake
// billing service.
import { type Bus, type ServiceHost, serve } from '@switchyard/bus';
import { type ComputerRecord, MINUTES_AHEAD, ServiceError } from '@switchyard/contracts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteComputer, stopComputer } from './lifecycle/transitions.ts';
import { minuteCost } from './metering/minutes.ts';
import { ASK_AGAIN_MS } from './metering/run-holds.ts';
import {
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const MINUTE_MS = 60_000;
/** Limits that do not end these computers; only money does. */
const FOR_HOURS = { SWITCHYARD_IDLE_STOP_MINUTES: '300', SWITCHYARD_MAX_LIFETIME_MINUTES: '300' };

/** Fake billing: grants a limited number of minutes in total. */
class Till {
  /** null: unlimited. */
  minutes: number | null = null;
  readonly held = new Set<string>();
  readonly spent = new Set<string>();
  /** Every requested minute, in order. */
  readonly asked: string[] = [];
  /** Awaited before each answer. */
  beforeAnswer: (call: string) => Promise<void> = async () => {};
  readonly #bus: Bus;
  #service: ServiceHost | null = null;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  async open(): Promise<void> {
    if (this.#service) return;
    const service = await serve(this.#bus, { name: 'billing', version: '0.1.0', description: 'of a test' });
    this.#service = service;
    service.handle('host-holds.take', async ({ call }) => {
      this.asked.push(call);
      await this.beforeAnswer(call);
      if (this.minutes === null) return { granted_nano: null, capped: false };
      this.held.delete(call);
      if (this.held.size + this.spent.size >= this.minutes)
        throw new ServiceError('insufficient_funds', 'nothing is left');
      this.held.add(call);
      return { granted_nano: '1', capped: false };
    });
    service.handle('host-holds.settle', async ({ call, spent }) => {
      if (this.held.delete(call) && spent) this.spent.add(call);
      return {};
    });
    service.handle('host-holds.renew', async () => ({}));
  }

  async close(): Promise<void> {
    await this.#service?.drain();
    this.#service = null;
  }
}

let installation: TestInstallation;
let testAgent: TestAgent;
let till: Till;

beforeAll(async () => {
  installation = await openTestInstallation();
  testAgent = await openTestAgent(installation, { env: FOR_HOURS });
}, SETUP_TIMEOUT_MS);
afterAll(async () => {
  await testAgent?.close();
  await installation?.stop();
});

beforeEach(async () => {
  till = new Till(installation.bus);
  await till.open();
});
afterEach(async () => {
  for (const computer of testAgent.agent.computers.all()) await deleteComputer(computer);
  await till.close();
});

const minuteOf = (id: string, minute: number, run = 1) => `${id}:${run}:${minute}`;
const minutesOf = (id: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => minuteOf(id, from + i));
const heldSoon = (held: readonly string[]) =>
  expect.poll(() => [...till.held].sort()).toEqual([...held].sort());
/**
 * Waits until the agent has received every answer and has no open request. Requests arrive before the agent answers
 * the first of two commands, and answers arrive before the second, because all use the same connection.
 */
async function agentHasHeard(id: string, agent = testAgent): Promise<void> {
  for (let asked = -1; asked !== till.asked.length; ) {
    asked = till.asked.length;
    await agent.exec(id, 'true');
    await agent.exec(id, 'true');
  }
}
/** A computer with money for this many minutes, whose agent knows that there is no more. */
async function createWith(minutes: number, agent = testAgent): Promise<string> {
  till.minutes = minutes;
  const { id } = await agent.create({}, true);
  await expect.poll(() => till.asked.at(-1)).toBe(minuteOf(id, minutes));
  await agentHasHeard(id, agent);
  return id;
}
const stopped = ({ state }: ComputerRecord) => state === 'stopped';

describe('a computer of a limited org', () => {
  test('holds ten minutes ahead; unused ones are released when it stops', async () => {
    till.minutes = 100;
    const { id } = await testAgent.create({}, true);
    await heldSoon(minutesOf(id, 0, MINUTES_AHEAD));
    await testAgent.pass(2 * MINUTE_MS + 1);
    await heldSoon(minutesOf(id, 2, 2 + MINUTES_AHEAD));
    expect([...till.spent]).toEqual(minutesOf(id, 0, 2));
    await testAgent.ask('stop', id);
    await heldSoon([]);
    expect([...till.spent]).toEqual(minutesOf(id, 0, 3));
  });

  test('is refused if the first minute does not fit: nothing runs, is charged or held', async () => {
    till.minutes = 0;
    await expect(testAgent.create({}, true)).rejects.toMatchObject({ code: 'insufficient_funds' });
    expect(testAgent.agent.computers.all()).toEqual([]);
    till.minutes = 1;
    const { id } = await testAgent.create({}, true);
    await testAgent.ask('stop', id);
    await expect.poll(() => till.spent.size).toBe(1);
    await expect(testAgent.ask('start', id, true)).rejects.toMatchObject({ code: 'insufficient_funds' });
    expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', run: null, minutes: 1 });
    till.minutes = 2;
    expect(await testAgent.ask('start', id, true)).toMatchObject({ status: 'running' });
  });

  test('stops when its paid minutes end, files kept, charged for those and no more', async () => {
    till.minutes = 3;
    const { id } = await testAgent.create({}, true);
    await testAgent.exec(id, 'echo kept > file');
    await heldSoon(minutesOf(id, 0, 3));
    await expect.poll(() => till.asked.at(-1)).toBe(minuteOf(id, 3));
    await agentHasHeard(id);
    await testAgent.pass(3 * MINUTE_MS - 1_000);
    expect(await testAgent.record(id)).toMatchObject({ state: 'running' });
    await testAgent.pass(1_000);
    const record = await testAgent.recordWhen(id, stopped);
    expect(record).toMatchObject({ stop_reason: 'insufficient_funds', minutes: 3 });
    expect(record.cost_nano).toBe(String(3n * minuteCost(record)));
    await heldSoon([]);
    till.minutes = 10;
    await testAgent.ask('start', id, true);
    expect((await testAgent.exec(id, 'cat file')).stdout).toBe('kept\n');
  });

  test.each(['stop', 'delete'] as const)('is not charged beyond them where a %s comes late', async (verb) => {
    const id = await createWith(1);
    const [computer] = testAgent.agent.computers.all();
    const late = Promise.withResolvers<void>();
    void computer!.lock.run(() => late.promise);
    const done = verb === 'stop' ? stopComputer(computer!, 'user') : deleteComputer(computer!);
    for (const ms of [40_000, 40_000]) {
      testAgent.clock.advance(ms);
      await testAgent.agent.heartbeat.beat();
    }
    late.resolve();
    await done;
    const end = verb === 'stop' ? 'stopped' : 'deleted';
    await installation.events.until(end, (event) => event.id === `${id}:1:${end}`);
    const charged = installation.events.of('computer.metered').filter(({ data }) => data.computer_id === id);
    expect(charged.map(({ data }) => data.minute)).toEqual([0]);
    if (verb === 'stop')
      expect(computer!.record).toMatchObject({ stop_reason: 'insufficient_funds', minutes: 1 });
    expect([...till.spent]).toEqual(minutesOf(id, 0, 1));
  });

  test('goes on when money comes in time', async () => {
    const id = await createWith(2);
    await testAgent.pass(MINUTE_MS);
    await agentHasHeard(id);
    till.minutes = 6;
    await testAgent.pass(ASK_AGAIN_MS);
    await heldSoon(minutesOf(id, 1, 6));
    await agentHasHeard(id);
    await testAgent.pass(2 * MINUTE_MS);
    expect(await testAgent.record(id)).toMatchObject({ state: 'running' });
  });

  test('goes on for the granted minutes while the next is not answered yet', async () => {
    const id = await createWith(2);
    await testAgent.pass(MINUTE_MS);
    await agentHasHeard(id);
    const answer = Promise.withResolvers<void>();
    till.beforeAnswer = (call) => (call === minuteOf(id, 4) ? answer.promise : Promise.resolve());
    till.minutes = 6;
    await testAgent.pass(ASK_AGAIN_MS);
    await expect.poll(() => till.asked.at(-1)).toBe(minuteOf(id, 4));
    await testAgent.pass(2 * MINUTE_MS); // beyond the first two paid minutes, within the four paid now
    expect(await testAgent.record(id)).toMatchObject({ state: 'running' });
    answer.resolve();
    await heldSoon(minutesOf(id, 3, 6));
  });

  test('that something limits only later ends with the minute that is on', async () => {
    const { id } = await testAgent.create({}, false);
    till.minutes = 0;
    await testAgent.pass(MINUTE_MS);
    await expect.poll(() => till.asked).toEqual([minuteOf(id, MINUTES_AHEAD)]);
    await agentHasHeard(id);
    await testAgent.pass((MINUTES_AHEAD - 1) * MINUTE_MS);
    expect(await testAgent.recordWhen(id, stopped)).toMatchObject({
      stop_reason: 'insufficient_funds',
      minutes: MINUTES_AHEAD,
    });
  });

  test('is held for again by the next agent, and stops where the earlier one would have stopped it', async () => {
    const first = await openTestAgent(installation, { env: FOR_HOURS });
    const id = await createWith(3, first);
    await first.pass(MINUTE_MS);
    await agentHasHeard(id, first);
    await first.agent.stop();
    till.held.clear(); // holds that are not renewed have expired
    const { clock, dataFolder } = first;
    const next = await openTestAgent(installation, { clock, dataFolder, env: FOR_HOURS });
    try {
      await heldSoon(minutesOf(id, 1, 3));
      await expect.poll(() => till.asked.at(-1)).toBe(minuteOf(id, 3));
      await agentHasHeard(id, next);
      await next.pass(2 * MINUTE_MS);
      expect(await next.recordWhen(id, stopped)).toMatchObject({
        stop_reason: 'insufficient_funds',
        minutes: 3,
      });
    } finally {
      await next.close();
    }
  });
});

test('an unlimited computer asks billing only once in ten minutes', async () => {
  const { id } = await testAgent.create({}, false);
  await testAgent.pass(MINUTE_MS);
  await expect.poll(() => till.asked).toEqual([minuteOf(id, 10)]);
  await agentHasHeard(id);
  await testAgent.pass(9 * MINUTE_MS);
  expect(till.asked).toHaveLength(1);
  await testAgent.pass(MINUTE_MS);
  await expect.poll(() => till.asked).toEqual([minuteOf(id, 10), minuteOf(id, 20)]);
});

describe('while billing is down', () => {
  test('a computer runs on, and holds once billing is back', async () => {
    const id = await createWith(3);
    till.minutes = 100;
    await till.close();
    await testAgent.pass(2 * MINUTE_MS);
    await till.open();
    // Pending requests are answered or have timed out; from then on the clock triggers the next one.
    await expect.poll(() => testAgent.bus.openCalls.outgoing).toBe(0);
    await testAgent.pass(ASK_AGAIN_MS);
    // The minutes of the time without billing may still be held: holds that were not released expire.
    const held = expect.arrayContaining(minutesOf(id, 2, 2 + MINUTES_AHEAD));
    await expect.poll(() => [...till.held]).toEqual(held);
    await agentHasHeard(id);
    await testAgent.pass(MINUTE_MS);
    expect(await testAgent.record(id)).toMatchObject({ state: 'running' });
  });

  test('a limited one does not begin, and an unlimited one does', async () => {
    await till.close();
    await expect(testAgent.create({}, true)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await testAgent.create({}, false)).toMatchObject({ status: 'running' });
  });
});
