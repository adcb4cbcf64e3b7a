// A real edge for tests, on a real nats-server, with API keys that the test puts into the bucket.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import { ALL_PERMISSIONS, DEFAULT_ORG, type KeyRecord, newId, type Permission } from '@switchyard/contracts';
import { makeLogger, readConfig } from '@switchyard/service';
import { type EventLog, FakeClock, openEventLog, startNats, temporaryFolder } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { config } from '../config.ts';
import { start } from '../run.ts';

/** Timers of an idle edge: receipts, and the check of events that wait for billing. */
export const IDLE_TIMERS = 2;

export interface TestEdge {
  readonly url: string;
  readonly port: number;
  readonly natsUrl: string;
  /** The test's own connection, to serve the edge's calls. */
  readonly bus: Bus;
  readonly clock: FakeClock;
  readonly events: EventLog;
  /** Its metrics, as Prometheus reads them. */
  metrics(): Promise<string>;
  /** Adds an API key and returns its secret. */
  addKey(permissions?: readonly Permission[], more?: Partial<KeyRecord>): Promise<string>;
  /** Changes the key with this secret. */
  changeKey(secret: string, change: Partial<KeyRecord>): Promise<void>;
  /** Stops the edge, as its process would. */
  drain(): Promise<void>;
  /** Stops the edge, unless it is stopped already, and its servers. */
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
  const metrics = new Registry();
  const edge = await start({
    config: readConfig(config, { SWITCHYARD_DATA: folder, PORT: '0' }),
    bus: edgeBus,
    logger,
    clock,
    metrics,
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
    metrics: () => metrics.metrics(),
    async addKey(permissions = ALL_PERMISSIONS, more = {}) {
      const id = newId('key');
      await keys.create(hash('sha256', id), {
        id,
        org: DEFAULT_ORG,
        name: 'test',
        permissions: [...permissions],
        prefix: id.slice(0, 8),
        created_at: new Date(clock.now()).toISOString(),
        expires_at: null,
        ...more,
      });
      return id;
    },
    async changeKey(secret, change) {
      const found = await keys.get(hash('sha256', secret));
      if (!found) throw new Error('a key that was added is there');
      await keys.put(found.key, { ...found.value, ...change });
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

/** Whether the edge no longer listens, as while draining. */
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
