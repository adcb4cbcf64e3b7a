// The agent is killed at every step of a command: before and after its init has received it, while it runs, when it
// has ended, and when the init knows of the receipt but the caller does not. The command runs at most once, no caller
// gets a wrong exit code, promised results are kept, and no command runs on that should be stopped.
import { once } from 'node:events';
import { openReply, requestHost } from '@switchyard/bus';
import { type ExecRequest, hostSubject } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import type { TestAgent } from './test-agent.ts';
import type { AgentProcess } from './test-agent-process.ts';
import { agentsInSuccession } from './test-succession.ts';

const NOON = Date.parse('2026-11-21T12:00:00Z');
const ORG = 'org_test';
/** How long a result waits for a repeated request. */
const CLAIM_MS = 30_000;
const EXEC_ID = 'req_doomed';

const agents = agentsInSuccession();

const WAITS = 'echo run >> runs; echo out; until [ -e go ]; do sleep 0.01; done; echo over; exit 5';
const ENDS = 'echo run >> runs; echo out; exit 5';

/**
 * Where the agent dies (init-steps.ts), how the command was requested, and what a repeated request gets from the next
 * agent.
 */
const TABLE = [
  // The command never began, and never will.
  ['asked', 'stream', 'continue', 'unknown'],
  // The command continues meanwhile.
  ['sent', 'whole', 'kill', 'result'],
  ['sent', 'stream', 'continue', 'result'],
  ['output', 'whole', 'continue', 'result'],
  // The command has ended.
  ['ended', 'whole', 'kill', 'result'],
  ['ended', 'stream', 'continue', 'result'],
  // A received result is forgotten, unless it is to be kept.
  ['received', 'whole', 'kill', 'unknown'],
  ['received', 'stream', 'continue', 'result'],
] as const;

test.each(TABLE)('killed at `%s` of a command (%s, %s): a repeat finds %s', async (...row) => {
  const [point, form, onDisconnect, found] = row;
  const runsOn = point === 'sent' || point === 'output';
  const command = runsOn ? WAITS : ENDS;
  const { id, asked } = await killDuring(point, form, { command, on_disconnect: onDisconnect });
  const next = await agents.startSuccessor(NOON + 2_000);
  // The caller learns that the outcome is unknown; it never gets a wrong one.
  await expect(asked).rejects.toMatchObject({ code: 'service_unavailable' });

  const repeated = repeat(next, id, command);
  if (runsOn) await next.exec(id, 'touch go');
  if (found === 'unknown') {
    await expect(repeated).rejects.toMatchObject({
      code: 'computer_failed',
      details: { reason: 'unknown_exec' },
    });
  } else {
    const stdout = runsOn ? 'out\nover\n' : 'out\n';
    expect(await repeated).toMatchObject({ stdout, exit_code: 5 });
  }
  const looked = requestHost(agents.installation.bus, next.agent.hostId, 'exec-get', {
    org: ORG,
    id,
    exec_id: EXEC_ID,
  });
  if (onDisconnect === 'continue' && found === 'result')
    expect(await looked).toMatchObject({ status: 'finished', result: { exit_code: 5 }, error: null });
  else await expect(looked).rejects.toMatchObject({ code: 'exec_not_found' });
  await expectAtRest(next, id, point === 'asked' ? 0 : 1);
});

test.each([
  ['kill', 'is ended'],
  ['continue', 'goes on'],
] as const)(
  'a stream whose agent died, on_disconnect %s: no repeated request, and its command %s',
  async (onDisconnect, fate) => {
    const { id, asked } = await killDuring('output', 'stream', {
      command: WAITS,
      on_disconnect: onDisconnect,
    });
    const next = await agents.startSuccessor(NOON + 2_000);
    await expect(asked).rejects.toMatchObject({ code: 'service_unavailable' });
    await next.pass(CLAIM_MS);
    if (fate === 'is ended') return expectAtRest(next, id, 1);
    await next.recordWhen(id, ({ last_activity_at }) => last_activity_at === null); // it keeps its computer busy
    await next.exec(id, 'touch go');
    const look = () =>
      requestHost(agents.installation.bus, next.agent.hostId, 'exec-get', { org: ORG, id, exec_id: EXEC_ID });
    await expect.poll(look).toMatchObject({ result: { stdout: 'out\nover\n', exit_code: 5 } });
    await expectAtRest(next, id, 1);
  },
);

/** A repeated request with the same id, without `resume`. */
test('a command that never began is run by a repeated request', async () => {
  const { id, asked } = await killDuring('asked', 'whole', { command: ENDS });
  const next = await agents.startSuccessor(NOON + 2_000);
  await expect(asked).rejects.toMatchObject({ code: 'service_unavailable' });
  const request = { org: ORG, id, body: { command: ENDS } };
  const asking = requestHost(agents.installation.bus, next.agent.hostId, 'exec', request, {
    requestId: EXEC_ID,
  });
  expect(await asking).toMatchObject({ stdout: 'out\n', exit_code: 5 });
  await expectAtRest(next, id, 1);
});

test('an agent that ends in order leaves a running command to its successor', async () => {
  const ending = await agents.startSuccessor(NOON);
  const { id } = await ending.create();
  const asked = askWhole(ending.agent, id, { command: WAITS });
  const outcome = expect(asked).rejects.toMatchObject({ code: 'service_unavailable' });
  await ending.exec(id, 'until [ -e runs ]; do sleep 0.01; done');
  let hasStopped = false;
  const stopped = ending.agent.stop().then(() => {
    hasStopped = true;
  });
  const commandsHadTime = () => {
    ending.clock.advance(100); // far from a minute, however long the other steps of its end take
    return hasStopped;
  };
  await expect.poll(commandsHadTime).toBe(true);
  await Promise.all([stopped, outcome]);
  await ending.bus.close();

  const next = await agents.startSuccessor(NOON + 2_000);
  const repeated = repeat(next, id, WAITS);
  await next.exec(id, 'touch go');
  expect(await repeated).toMatchObject({ stdout: 'out\nover\n', exit_code: 5 });
  await expectAtRest(next, id, 1);
});

/** Resolves when the agent is dead, with the computer and the answer to the caller. */
async function killDuring(
  point: (typeof TABLE)[number][0],
  form: 'whole' | 'stream',
  body: ExecRequest,
): Promise<{ id: string; asked: Promise<unknown> }> {
  const killAfterStep = `exec ${EXEC_ID} ${point}`;
  const doomed = await agents.startDoomed({ now: NOON, killAfterStep });
  const { id } = await doomed.host.create();
  const gone = once(doomed.process, 'exit');
  const asked = form === 'whole' ? askWhole(doomed, id, body) : askStreamed(doomed, id, body);
  asked.catch(() => {}); // awaited later by the test
  await gone;
  return { id, asked };
}

const askWhole = ({ hostId }: Pick<AgentProcess, 'hostId'>, id: string, body: ExecRequest) =>
  requestHost(agents.installation.bus, hostId, 'exec', { org: ORG, id, body }, { requestId: EXEC_ID });

/** Reads the end of the stream as the edge does. */
async function askStreamed({ hostId }: AgentProcess, id: string, body: ExecRequest): Promise<unknown> {
  const reply = await openReply(agents.installation.bus, {
    subject: hostSubject(hostId, 'exec-stream'),
    head: { request_id: EXEC_ID, org: ORG, id },
    body: Buffer.from(JSON.stringify(body)),
  });
  for await (const _output of reply.body);
  return reply.end;
}

/** Repeats a request whose agent was lost, as the edge does. */
function repeat({ agent }: TestAgent, id: string, command: string) {
  const request = { org: ORG, id, body: { command }, resume: true as const };
  const repeated = requestHost(agents.installation.bus, agent.hostId, 'exec', request, {
    requestId: EXEC_ID,
  });
  repeated.catch(() => {}); // awaited later by the test
  return repeated;
}

/** Expects the number of runs, no process left, an idle computer, and each minute charged once. */
async function expectAtRest(testAgent: TestAgent, id: string, runs: number): Promise<void> {
  const counted = await testAgent.exec(id, 'cat runs 2> /dev/null | wc -l');
  expect(counted.stdout.trim()).toBe(String(runs));
  await expect.poll(async () => (await testAgent.exec(id, 'pgrep -fc "[u]ntil"')).stdout).toBe('0\n');
  // A late end would be written into the record by a clock that the test no longer moves.
  const { hostId } = testAgent.agent;
  const running = async () => {
    const { data } = await requestHost(agents.installation.bus, hostId, 'exec-list', { org: ORG, id });
    return data.filter(({ status }) => status === 'running');
  };
  await expect.poll(running).toEqual([]);
  await testAgent.pass(1_000); // so that activity is written
  await testAgent.recordWhen(id, ({ last_activity_at }) => last_activity_at !== null);
  await testAgent.ask('stop', id);
  expect(await testAgent.record(id)).toMatchObject({ state: 'stopped', minutes: 1 });
}
