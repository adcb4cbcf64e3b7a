// An agent in a process of its own, to be killed: its clock is moved by messages, and it may kill itself at a point
// that no signal from outside could hit.
//   argv: NATS URL, data folder, wall-clock time, the id of an event after which it is killed or nothing, and such a step:
//   `record <state> <run or off>`, `record deleted`, `container created|started|removed`, or one of init-steps.ts as
//   `exec <id> asked|sent|output|ended|received`
//   messages in: AgentOrder    out: { ready: hostId }, then { done: order } for each but `stop`, which ends it
import { flushCompileCache } from 'node:module';
import { connectBus } from '@switchyard/bus';
import { computerRecord } from '@switchyard/contracts';
import { makeLogger, readConfig } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import Docker from 'dockerode';
import { agentConfig } from '../config.ts';
import { openAgent } from '../run.ts';
import { anyInterface, passTime, presentImage } from '../test-agent.ts';
import type { AgentOrder } from '../test-agent-process.ts';
import { followExecs } from './init-steps.ts';

const [url, dataFolder, now, killAfterEvent, killAfterStep] = process.argv.slice(2) as [
  string,
  string,
  string,
  string?,
  string?,
];
const logger = makeLogger('computer-agent', process.env.TEST_LOG_LEVEL ?? 'silent');
const config = readConfig(agentConfig, {
  SWITCHYARD_WARM_POOL: '0',
  ...process.env,
  SWITCHYARD_DATA: dataFolder,
});
const clock = new FakeClock(Number(now));
const bus = await connectBus({ url, service: 'computer-agent', logger });

/** Not by what the agent does to get ready. */
let armed = false;
const die = () => process.kill(process.pid, 'SIGKILL');
const step = (name: string) => {
  if (armed && name !== '' && name === killAfterStep) die();
};

/** The step that a stored message is, if it is a computer's record. */
function recordStep(subject: string, payload: unknown): string {
  if (!subject.startsWith('$KV.computers.')) return '';
  const text = typeof payload === 'string' ? payload : Buffer.from((payload ?? '') as Uint8Array).toString();
  if (text === '') return 'record deleted';
  const record = computerRecord.parse(JSON.parse(text));
  return `record ${record.state} ${record.run === null ? 'off' : 'run'}`;
}

/** The id of a stored message, if it is an event. */
const eventId = (subject: string, payload: unknown) =>
  subject.startsWith('host-event.') ? (JSON.parse(String(payload)) as { id: string }).id : null;

/** Stored by JetStream; the agent does not know it yet. */
const publish = bus.js.publish.bind(bus.js);
bus.js.publish = async (subject, payload, options) => {
  const ack = await publish(subject, payload, options);
  if (killAfterEvent && eventId(subject, payload) === killAfterEvent) die();
  step(recordStep(subject, payload));
  return ack;
};

/** Done by Docker; the agent does not know it yet. */
const docker = new Docker();
const { dial } = docker.modem;
docker.modem.dial = (options, callback) =>
  dial.call(docker.modem, options, (error, data) => {
    const { method, path } = options as { method: string; path: string };
    if (method === 'POST' && path.startsWith('/containers/create')) step('container created');
    if (method === 'POST' && /\/start\??$/.test(path)) step('container started');
    if (method === 'DELETE' && path.startsWith('/containers/')) step('container removed');
    callback?.(error, data);
  });

followExecs((execId, point) => step(`exec ${execId} ${point}`));

const agent = await openAgent({
  config,
  bus,
  logger,
  clock,
  docker,
  hasInterface: process.env.DOCKER_HOST ? anyInterface : undefined,
  standardImage: presentImage,
});
await agent.ready;
armed = true;
process.on('message', async (order: AgentOrder) => {
  switch (order.do) {
    case 'pass':
      await passTime(agent, clock, order.ms);
      break;
    case 'fall silent':
      clock.advance(order.ms);
      await agent.heartbeat.beat();
      break;
    case 'stop':
      await agent.stop();
      await bus.close();
      return process.disconnect();
  }
  process.send?.({ done: order.do });
});
flushCompileCache(); // most of these processes are killed
process.send?.({ ready: agent.hostId });
