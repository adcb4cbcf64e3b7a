// An edge of a test's own: the real one, on a real nats-server, with keys put into the bucket by the test.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { ALL_PERMISSIONS, DEFAULT_ORG, newId, type Permission } from '@switchyard/contracts';
import { makeLogger, readConfig } from '@switchyard/service';
import { type EventLog, FakeClock, openEventLog, startNats, temporaryFolder } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { config } from '../config.ts';
import { start } from '../run.ts';

/** Timers that are set while an edge has nothing to do: the one that hands over receipts. */
export const IDLE_TIMERS = 1;

export interface TestEdge {
  readonly url: string;
  readonly port: number;
  readonly natsUrl: string;
  /** The test's own connection, to serve what the edge calls. */
  readonly bus: Bus;
  readonly clock: FakeClock;
  readonly events: EventLog;
  /** Puts a key into the installation and returns its secret. */
  addKey(permissions?: readonly Permission[]): Promise<string>;
  /** Stops the edge, as its process would. */
  drain(): Promise<void>;
  /** Stops it, where that has not happened, and all that is around it. */
  stop(): Promise<void>;
}

export async function startTestEdge(): Promise<TestEdge> {
  const nats = await startNats();
  const logger = makeLogger('edge', 'silent');
  const [bus, edgeBus] = await Promise.all(
    ['test', 'edge'].map((service) => connectBus({ url: nats.url, service, logger })),
  );
  if (!bus || !edgeBus) throw new Error('two connections were asked for');
  const clock = new FakeClock();
  const folder = await temporaryFolder('edge');
  const edge = await start({
    config: readConfig(config, { SWITCHYARD_DATA: folder, PORT: '0' }),
    bus: edgeBus,
    logger,
    clock,
    metrics: new Registry(),
    signal: new AbortController().signal,
  });
  const events = await openEventLog(bus);
  const keys = await openBucket(bus, 'keys');
  let drained: Promise<void> | null = null;
  const drain = () => {
    drained ??= edge.stop();
    return drained;
  };
  return {
    url: edge.url,
    port: Number(new URL(edge.url).port),
    natsUrl: nats.url,
    bus,
    clock,
    events,
    async addKey(permissions = ALL_PERMISSIONS) {
      const id = newId('key');
      await keys.create(hash('sha256', id), {
        id,
        org: DEFAULT_ORG,
        name: 'test',
        permissions: [...permissions],
        prefix: id.slice(0, 8),
        created_at: new Date(clock.now()).toISOString(),
        expires_at: null,
      });
      return id;
    },
    drain,
    async stop() {
      await drain();
      await events.stop();
      await edgeBus.close();
      await bus.close();
      await nats.stop();
    },
  };
}

/** Whether it listens no longer, as one that drains. */
export async function refusesConnections({ port }: Pick<TestEdge, 'port'>): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}
