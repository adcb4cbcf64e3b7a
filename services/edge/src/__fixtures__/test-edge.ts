// A real edge for tests, on a real nats-server, with API keys that the test puts into the bucket.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Bucket, type Bus, connectBus, openBucket } from '@switchyard/bus';
import {
  ALL_PERMISSIONS,
  DEFAULT_ORG,
  type KeyRecord,
  keyRecordKey,
  newId,
  type OrgRecord,
  type Permission,
} from '@switchyard/contracts';
import { makeLogger, readConfig } from '@switchyard/service';
import { type EventLog, FakeClock, openEventLog, startNats, temporaryFolder } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { config } from '../config.ts';
import { type RunningEdge, start } from '../run.ts';

/**
 * Timers of an idle edge: receipts, the check of events that wait for billing, the renewal of open calls, and the check
 * for stalled clients.
 */
export const IDLE_TIMERS = 4;

export interface TestEdge {
  readonly url: string;
  readonly port: number;
  readonly natsUrl: string;
  /** Its data folder. */
  readonly folder: string;
  /** The test's own connection, to serve the edge's calls. */
  readonly bus: Bus;
  readonly clock: FakeClock;
  readonly events: EventLog;
  /** Its metrics, as Prometheus reads them. */
  metrics(): Promise<string>;
  /** Adds an API key, with an org that is missing, and returns its secret. */
  addKey(permissions?: readonly Permission[], more?: Partial<KeyRecord>): Promise<string>;
  /** The bucket of the orgs. */
  readonly orgs: Bucket<OrgRecord>;
  /** Changes the key with this secret. */
  changeKey(secret: string, change: Partial<KeyRecord>): Promise<void>;
  revokeKey(secret: string): Promise<void>;
  /** Starts another edge beside it, on the same clock; returns its address. `stop` stops it too. */
  another(): Promise<string>;
  /** Stops the edge, as its process would. */
  drain(): Promise<void>;
  /** Stops the edge, unless it is stopped already, and its servers. */
  stop(): Promise<void>;
}

/** @param settings besides those of every test */
export async function startTestEdge(settings: Record<string, string> = {}): Promise<TestEdge> {
  const nats = await startNats();
  const logger = makeLogger('edge', 'silent');
  const bus = await connectBus({ url: nats.url, service: 'test', logger });
  const clock = new FakeClock();
  const buses: Bus[] = [];
  const metrics = new Registry();
  const folder = await temporaryFolder('edge');
  const startEdge = async (registry: Registry, data: string) => {
    const edgeBus = await connectBus({ url: nats.url, service: 'edge', logger });
    buses.push(edgeBus);
    return start({
      config: readConfig(config, { ...settings, SWITCHYARD_DATA: data, PORT: '0' }),
      bus: edgeBus,
      logger,
      clock,
      metrics: registry,
      signal: new AbortController().signal,
    });
  };
  const edge = await startEdge(metrics, folder);
  const others: RunningEdge[] = [];
  const events = await openEventLog(bus);
  const keys = await openBucket(bus, 'keys');
  /** By secret. */
  const keysAdded = new Map<string, string>();
  const orgs = await openBucket(bus, 'orgs');
  const keyOf = (secret: string) => {
    const key = keysAdded.get(secret);
    if (key === undefined) throw new Error('the key was not added');
    return key;
  };
  let drained: Promise<void> | null = null;
  const drain = () => {
    drained ??= edge.stop();
    return drained;
  };
  return {
    url: edge.url,
    port: Number(new URL(edge.url).port),
    natsUrl: nats.url,
    folder,
    bus,
    clock,
    events,
    metrics: () => metrics.metrics(),
    async addKey(permissions = ALL_PERMISSIONS, more = {}) {
      const id = newId('key');
      const { org = DEFAULT_ORG } = more;
      await orgs.change(org, (known) => (known ? null : newOrg(org, clock)));
      const record: KeyRecord = {
        id,
        org,
        name: 'test',
        permissions: [...permissions],
        prefix: id.slice(0, 8),
        created_at: new Date(clock.now()).toISOString(),
        expires_at: null,
        secrets: [{ hash: hash('sha256', id), until: null }],
        ...more,
      };
      const key = keyRecordKey(org, record.id);
      await keys.create(key, record);
      keysAdded.set(id, key);
      return id;
    },
    orgs,
    async changeKey(secret, change) {
      await keys.change(keyOf(secret), (found) => found && { ...found.value, ...change });
    },
    async revokeKey(secret) {
      await keys.delete(keyOf(secret));
    },
    async another() {
      const other = await startEdge(new Registry(), await temporaryFolder('edge'));
      others.push(other);
      return other.url;
    },
    drain,
    async stop() {
      await Promise.all([drain(), ...others.map((other) => other.stop())]);
      await events.stop();
      await Promise.all(buses.map((one) => one.close()));
      await bus.close();
      await nats.stop();
    },
  };
}

function newOrg(id: string, clock: FakeClock): OrgRecord {
  const at = new Date(clock.now()).toISOString();
  return {
    ...{ id, name: 'test', billing: 'postpaid', monthly_limit: null },
    ...{ created_at: at, updated_at: at, suspended_at: null, removed_at: null },
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
