// An agent in a process of its own, to be killed: its clock is moved by messages, and it may kill itself at a point
// that no signal from outside could hit.
//   argv: NATS URL, data folder, `kill-after-event` id or nothing
//   messages in: { pass: ms }    out: { ready: hostId }, { passed: ms }
import { connectBus } from '@switchyard/bus';
import { makeLogger, readConfig } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import Docker from 'dockerode';
import { agentConfig } from '../config.ts';
import { openAgent } from '../run.ts';
import { passTime, presentImage } from '../test-agent.ts';

const [url, dataFolder, now, killAfterEvent] = process.argv.slice(2) as [string, string, string, string?];
const logger = makeLogger('computer-agent', process.env.TEST_LOG_LEVEL ?? 'silent');
const config = readConfig(agentConfig, { SWITCHYARD_DATA: dataFolder, SWITCHYARD_WARM_POOL: '0' });
const clock = new FakeClock(Number(now));
const bus = await connectBus({ url, service: 'computer-agent', logger });

if (killAfterEvent) {
  const publish = bus.js.publish.bind(bus.js);
  bus.js.publish = async (subject, payload, options) => {
    const ack = await publish(subject, payload, options);
    // Stored by JetStream; the agent has not been told.
    if (options?.msgID === killAfterEvent) process.kill(process.pid, 'SIGKILL');
    return ack;
  };
}

const agent = await openAgent({ config, bus, logger, clock, docker: new Docker(), standardImage: presentImage });
await agent.ready;
process.on('message', async ({ pass }: { pass: number }) => {
  await passTime(agent, clock, pass);
  process.send?.({ passed: pass });
});
process.send?.({ ready: agent.hostId });
