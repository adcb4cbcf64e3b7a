// Control for tests: in this process, on a nats-server of its own.
import { type Bus, connectBus } from '@switchyard/bus';
import { type Clock, makeLogger, readConfig, systemClock } from '@switchyard/service';
import { type EventLog, openEventLog, startNats, temporaryFolder } from '@switchyard/testing';
import { config as controlConfig } from '../config.ts';
import { start } from '../run.ts';

export interface TestControl {
  /** The test's own connection. */
  readonly bus: Bus;
  readonly events: EventLog;
  stop(): Promise<void>;
}

interface TestControlOptions {
  /** Settings as in the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

export async function startTestControl({
  env = {},
  clock = systemClock,
}: TestControlOptions = {}): Promise<TestControl> {
  const logger = makeLogger('control', 'silent');
  const nats = await startNats();
  const bus = await connectBus({ url: nats.url, service: 'test', logger });
  const controlBus = await connectBus({ url: nats.url, service: 'control', logger });
  const config = readConfig(controlConfig, { SWITCHYARD_DATA: await temporaryFolder('control'), ...env });
  const control = await start({ config, bus: controlBus, logger, clock });
  const events = await openEventLog(bus);
  return {
    bus,
    events,
    async stop() {
      await events.stop();
      await control.stop();
      await controlBus.close();
      await bus.close();
      await nats.stop();
    },
  };
}
