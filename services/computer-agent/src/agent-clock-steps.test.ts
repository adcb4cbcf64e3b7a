// Minutes while wall clocks are changed, hosts are suspended and months end: real NATS and Docker, clocks controlled
// by the test. The monotonic clock measures the billed time; the wall clock only dates minutes.
import { recordKey } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ANCHOR_AGE_MS_MAX } from './metering/resumed-run.ts';
import {
  defaultLimits,
  newTestRecord,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOON = Date.parse('2026-11-21T12:00:00Z');
/** Limits that do not end these computers. */
const FOR_HOURS = { SWITCHYARD_IDLE_STOP_MINUTES: '480', SWITCHYARD_MAX_LIFETIME_MINUTES: '480' };

let installation: TestInstallation;
let testAgent: TestAgent;
beforeAll(async () => {
  installation = await openTestInstallation();
}, SETUP_TIMEOUT_MS);
afterEach(() => testAgent?.close());
afterAll(() => installation?.stop());

const agentAt = async (clock: FakeClock, dataFolder?: string) => {
  testAgent = await openTestAgent(installation, {
    clock,
    env: FOR_HOURS,
    ...(dataFolder ? { dataFolder } : {}),
  });
  return testAgent;
};

const minutesOf = (id: string) =>
  installation.events.of('computer.metered').filter(({ data }) => data.computer_id === id);

/** The charged minutes, once the run's end is published: each once, from the first, and counted in the record. */
async function chargedBy(id: string, run = 1): Promise<number> {
  await testAgent.ask('stop', id);
  await installation.events.until('stopped', (event) => event.id === `${id}:${run}:stopped`);
  const minutes = minutesOf(id).filter(({ data }) => data.run === run);
  expect(minutes.map(({ data }) => data.minute)).toEqual(minutes.map((_, i) => i));
  return minutes.length;
}

describe('the wall clock set while an agent runs', () => {
  test.each([
    ['a day forwards', DAY_MS],
    ['a day backwards', -DAY_MS],
    ['as the host wakes after eight hours of sleep', 8 * HOUR_MS],
  ])('%s: the minutes of the run do not change', async (_, step) => {
    const clock = new FakeClock(NOON);
    await agentAt(clock);
    const { id } = await testAgent.create();
    await testAgent.pass(90_000);
    clock.step(step);
    await testAgent.pass(90_000);
    expect(await testAgent.record(id)).toMatchObject({ state: 'running', minutes: 3 });
    await testAgent.pass(1);
    expect(await chargedBy(id)).toBe(4);
    expect(minutesOf(id).map(({ time }) => Date.parse(time) - NOON)).toEqual([
      MINUTE_MS,
      2 * MINUTE_MS + step,
      3 * MINUTE_MS + step,
      3 * MINUTE_MS + 1 + step,
    ]);
  });

  test('back and forth within one minute: no minute is lost or added', async () => {
    const clock = new FakeClock(NOON);
    await agentAt(clock);
    const { id } = await testAgent.create();
    for (const step of [HOUR_MS, -2 * HOUR_MS, 3 * HOUR_MS, -HOUR_MS, -HOUR_MS, 17]) {
      clock.step(step);
      await testAgent.pass(20_000);
    }
    expect(await testAgent.record(id)).toMatchObject({ minutes: 2 });
    expect(await chargedBy(id)).toBe(2);
  });
});

describe('the wall clock set, and the agent restarted', () => {
  test.each([
    ['forwards', HOUR_MS, { least: 2, most: 2 + Math.ceil((ANCHOR_AGE_MS_MAX + 5_000) / MINUTE_MS) }],
    ['backwards', -HOUR_MS, { least: 1, most: 2 }], // the time since the last minute's end is free
  ])('an hour %s within the minute: the step is not billed', async (_, step, { least, most }) => {
    const clock = new FakeClock(NOON);
    const first = await agentAt(clock);
    const { id } = await first.create();
    await first.pass(70_000);
    clock.step(step);
    await first.pass(10_000); // heard, by the changed clock
    await first.agent.stop();
    clock.advance(5_000);
    const next = await agentAt(clock, first.dataFolder);
    expect(await next.record(id)).toMatchObject({ state: 'running' });
    const charged = await chargedBy(id);
    expect(charged).toBeGreaterThanOrEqual(least);
    expect(charged).toBeLessThanOrEqual(most);
  });

  test('an agent down over the end of a month: each minute once, in the month in which it was charged', async () => {
    const clock = new FakeClock(Date.parse('2026-11-30T23:58:30Z'));
    const first = await agentAt(clock);
    const { id } = await first.create();
    await first.pass(80_000); // until ten seconds before the end of the month
    await first.agent.stop();
    clock.advance(50_000);
    const next = await agentAt(clock, first.dataFolder);
    await next.pass(20_000); // 150 s in all, none of them unheard for a minute
    expect(await chargedBy(id)).toBe(3);
    expect(minutesOf(id).map(({ time }) => time.slice(0, 'yyyy-mm'.length))).toEqual([
      '2026-11',
      '2026-12',
      '2026-12',
    ]);
  });
});

test('a run of zero length costs a minute, and so does the next one', async () => {
  const clock = new FakeClock(NOON);
  await agentAt(clock);
  const { id } = await testAgent.create();
  expect(await chargedBy(id)).toBe(1);
  await testAgent.ask('start', id);
  expect(await chargedBy(id, 2)).toBe(1);
  expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', minutes: 2 });
  await testAgent.ask('start', id);
  await testAgent.delete(id);
  await installation.events.until('deleted', (event) => event.id === `${id}:3:deleted`);
  expect(minutesOf(id).map(({ data }) => `${data.run}:${data.minute}`)).toEqual(['1:0', '2:0', '3:0']);
});

test('a host whose clock is a minute ahead of control’s does not take back a creation that is on its way', async () => {
  await agentAt(new FakeClock(NOON));
  const created_at = new Date(NOON - MINUTE_MS).toISOString();
  const record = newTestRecord(testAgent.agent.hostId, defaultLimits(), { created_at });
  await installation.computers.create(recordKey(record), record);
  await testAgent.agent.reconciler.reconcile();
  expect(await testAgent.ask('create', record.id)).toMatchObject({ status: 'running' });
});
