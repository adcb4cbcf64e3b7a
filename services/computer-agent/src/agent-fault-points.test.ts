// The agent is killed after each step of create, stop, start and delete, before it learns of the step's success.
// After the next agent's recovery there is no orphan, no lost or doubled minute, and no stopped computer recorded as
// running.
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import Docker from 'dockerode';
import { expect, test } from 'vitest';
import { CREATION_ARRIVES_MS_MAX } from './lifecycle/reconcile.ts';
import { ORPHAN_GRACE_MS } from './lifecycle/reconciler.ts';
import { defaultLimits, newTestRecord } from './test-agent.ts';
import { agentsInSuccession } from './test-succession.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');

const agents = agentsInSuccession();

/** Operation, step after which the agent dies, and the state after the next agent's recovery. */
const TABLE = [
  // The caller got no answer, so the computer does not exist. Before its run is recorded the request counts as in
  // flight.
  ['create', 'container created', 'creating', 0],
  ['create', 'record creating run', 'none', 0],
  ['create', 'container started', 'none', 0],
  // It runs and is billed.
  ['create', 'record running run', 'running', 1],
  ['create', 'event :1:created', 'running', 1],
  ['stop', 'record stopping run', 'stopped', 1],
  ['stop', 'container removed', 'stopped', 1],
  ['stop', 'event :1:0', 'stopped', 1],
  ['stop', 'event :1:stopped', 'stopped', 1],
  ['stop', 'record stopped off', 'stopped', 1],
  ['start', 'container created', 'stopped', 1],
  ['start', 'record starting run', 'stopped', 1],
  ['start', 'container started', 'stopped', 1],
  ['start', 'record running run', 'running', 2],
  ['start', 'event :2:started', 'running', 2],
  ['delete', 'record deleting run', 'none', 1],
  ['delete', 'container removed', 'none', 1],
  ['delete', 'event :1:deleted', 'none', 1],
  ['delete', 'record deleted', 'none', 1],
] as const;

/** The same with a container from the pool. */
const WARM_TABLE = [
  ['create', 'record creating run', 'none', 0],
  ['create', 'record running run', 'running', 1],
  ['start', 'record starting run', 'stopped', 1],
] as const;

test.each([
  ...TABLE.map((row) => [...row, 'cold'] as const),
  ...WARM_TABLE.map((row) => [...row, 'warm'] as const),
])(
  'killed in %s after: %s; then it is %s, with %i minutes (%s)',
  async (verb, point, state, minutes, pool) => {
    const record = newTestRecord('host_unknown', defaultLimits(), {
      created_at: new Date(NOON).toISOString(),
    });
    const { id } = record;
    // The preparation uses an agent that stays alive.
    if (verb !== 'create') {
      const first = await agents.startDoomed({ now: NOON });
      await first.host.create({ id });
      if (verb === 'start') await first.host.ask('stop', id);
      await first.kill();
    }
    const doomed = await agents.startDoomed({
      now: NOON + 1_000,
      env: { SWITCHYARD_WARM_POOL: pool === 'warm' ? '1' : '0' },
      ...(point.startsWith('event ')
        ? { killAfterEvent: `${id}${point.slice('event '.length)}` }
        : { killAfterStep: point }),
    });
    if (pool === 'warm') await oneWaits(doomed.hostId);
    const gone = once(doomed.process, 'exit');
    const asked =
      verb === 'create'
        ? doomed.host.create({ id })
        : verb === 'delete'
          ? doomed.host.delete(id)
          : doomed.host.ask(verb, id);
    asked.catch(() => {});
    await gone;

    const successor = await agents.startSuccessor(NOON + 2_000);
    const { agent } = successor;
    const found = await successor.record(id);
    expect(found?.state ?? 'none').toBe(state);
    if (state === 'running') {
      expect((await successor.exec(id, 'echo alive')).stdout).toBe('alive\n');
      await successor.ask('stop', id);
    }
    // No orphan after the grace period, and no creation that was given up.
    await agent.reconciler.reconcile();
    await successor.pass(Math.max(ORPHAN_GRACE_MS, CREATION_ARRIVES_MS_MAX));
    await agent.reconciler.reconcile();
    expect(await containersOf(agent.hostId)).toEqual([]);
    const left = await successor.record(id);
    expect(left?.state).not.toBe('creating');
    // Each minute once, in the events and in the record, and none after the end of a run.
    const last = state === 'none' ? `${id}:1:deleted` : `${id}:${minutes}:stopped`;
    if (minutes > 0) await agents.installation.events.until('the last', (event) => event.id === last);
    const charged = agents.installation.events
      .of('computer.metered')
      .filter(({ data }) => data.computer_id === id)
      .map(({ data }) => `${data.run}:${data.minute}`);
    expect(charged).toEqual(Array.from({ length: minutes }, (_, run) => `${run + 1}:0`));
    if (left) expect(left.minutes).toBe(minutes);
  },
);

const containersOf = (hostId: string) =>
  new Docker().listContainers({ all: true, filters: { label: [`switchyard.agent=${hostId}`] } });

/** A container is in the pool, and is the only one: the socket of its init was taken. */
async function oneWaits(hostId: string): Promise<void> {
  const control = `${agents.dataFolder}/hosts/computer-agent/computers/control`;
  const socket = async () => (await readdir(control)).map((name) => name.endsWith('.sock'));
  await expect.poll(socket).toEqual([true]);
  expect(await containersOf(hostId)).toHaveLength(1);
}
