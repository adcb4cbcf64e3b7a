// One process's connection to the bus: calls, services, JetStream and KV over the official client.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { inboxPrefix } from './call-subjects.ts';
import { Callee } from './callee.ts';
import { Caller } from './caller.ts';
import { SWEEP_LATE_MS, SWEEP_MS } from './limits.ts';
import { connectionOptions } from './nats-url.ts';
import type { CallRequest, OutgoingCall, ReplySink } from './outgoing-call.ts';
import { Peers } from './peers.ts';
import { StoreGate } from './store-gate.ts';
import { TurnPublisher } from './turn-publisher.ts';

/** The part of a pino logger that the bus needs. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface BusOptions {
  /** nats://host:port, several separated by commas; each may name a user, `nats://user:password@host:port`. */
  url: string;
  /** As in `connectionOptions`. */
  caFile?: string | undefined;
  /** The service's name; shown as the connection's name in `nats server` reports. */
  service: string;
  logger: Logger;
  /** False for interactive programs: connecting throws when no server answers now. */
  waitsForServer?: boolean;
}

/** A user is one token of the subjects of its calls. */
const USER_PATTERN = /^[\w-]+$/;
const RECONNECT_PAUSE_MS = 100;
/** A half-open connection is detected only by two unanswered pings. */
const PING_INTERVAL_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** How often a service that waits for a server logs the same reason. */
const WAITING_LOG_EVERY_MS = 60_000;

/**
 * Connects, waits as long as needed for a server that accepts it, and reconnects without limit afterwards.
 * @throws when the options are wrong (not a URL, an impossible user, no file of authorities)
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const { url, caFile, service, logger, waitsForServer = true } = options;
  if (caFile !== undefined) await access(caFile, constants.R_OK);
  const address = connectionOptions(url, caFile);
  if (address.user !== undefined && !USER_PATTERN.test(address.user))
    throw new Error(
      'NATS_USER, or the user in NATS_URL, has other characters than letters, digits, _ and -.',
    );
  // The user's permissions are for subjects with this name.
  const instance = `${address.user ?? service}.${randomBytes(6)
    .toString('base64url')
    .replaceAll(/[^A-Za-z0-9]/g, '0')}`;
  const connection: ConnectionOptions = {
    ...address,
    name: instance,
    waitOnFirstConnect: waitsForServer, // else the client forgets servers that are down now
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_PAUSE_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    timeout: CONNECT_TIMEOUT_MS,
    noAsyncTraces: true,
    ignoreAuthErrorAbort: true,
    inboxPrefix: inboxPrefix(instance),
  };
  if (waitsForServer) await untilAccepted(connection, logger);
  const nc = await connect(connection).catch((cause: Error) => {
    const hosts = address.servers.map((server) => server.replace(/^\w+:\/\//, '')).join(', ');
    throw new Error(`the bus at ${hosts} cannot be reached: ${cause.message}`, { cause });
  });
  return new Bus(nc, await jetstreamManager(nc, { checkAPI: false }), instance, logger);
}

/** Tries until a server accepts a connection: the client's own `waitOnFirstConnect` does not say why it waits. */
async function untilAccepted(options: ConnectionOptions, logger: Logger): Promise<void> {
  const logged = new Set<string>();
  let logsAgainAt = 0;
  for (;;) {
    try {
      const trial = await connect({ ...options, waitOnFirstConnect: false, reconnect: false });
      return await trial.close();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ERR_INVALID_URL') throw error;
      const now = performance.now();
      if (now >= logsAgainAt) {
        logged.clear();
        logsAgainAt = now + WAITING_LOG_EVERY_MS;
      }
      if (!logged.has(message))
        logger.warn(
          { err: error, servers: options.servers },
          'This service cannot connect to NATS and tries again. Check NATS_URL, NATS_USER, NATS_PASSWORD and NATS_TLS_CA.',
        );
      logged.add(message);
    }
    await setTimeout(RECONNECT_PAUSE_MS);
  }
}

export class Bus {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** This process's name on the bus, new at each start: `<user>.<random>`. */
  readonly instance: string;
  readonly logger: Logger;
  readonly publisher: TurnPublisher;
  readonly callee: Callee;
  readonly #caller: Caller;
  readonly #peers: Peers;
  readonly #gate: StoreGate;
  readonly #sweeper: NodeJS.Timeout;
  readonly #reconnectHooks = new Set<() => void>();
  #connected = true;
  #sweptAt = performance.now();

  constructor(nc: NatsConnection, jsm: JetStreamManager, instance: string, logger: Logger) {
    this.nc = nc;
    this.js = jetstream(nc);
    this.jsm = jsm;
    this.instance = instance;
    this.logger = logger;
    const log = (message: string) => (error: unknown, subject: string) =>
      logger.error({ err: error, subject }, message);
    this.publisher = new TurnPublisher(nc, log('a message could not be sent and is dropped'));
    this.#peers = new Peers(nc, instance);
    this.#gate = new StoreGate(jsm, logger);
    const onBrokenReply = log('a reply could not be processed');
    this.#caller = new Caller(nc, this.publisher, this.#peers, this.#gate, instance, onBrokenReply);
    const onFailedCall = log('a call failed with an unexpected error');
    this.callee = new Callee(nc, this.publisher, this.#peers, instance, onFailedCall);
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
    void this.#watchLink();
  }

  /** The NATS user of this process; without one the service's name. */
  get user(): string {
    return this.instance.split('.', 1)[0]!;
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Whether `admitBillable` would let a call begin now. */
  get admitsBillable(): boolean {
    return this.#gate.admits;
  }

  /** Whether this billable call may begin; while usage events might not be stored, one trial call at a time. */
  admitBillable(): boolean {
    return this.#gate.admit();
  }

  /** Calls `hook` after each reconnection; returns a function that removes the hook. */
  onReconnect(hook: () => void): () => void {
    this.#reconnectHooks.add(hook);
    return () => this.#reconnectHooks.delete(hook);
  }

  /** Opens a call: a duplex byte stream with one instance that serves the subject. */
  call(request: CallRequest, sink: ReplySink): OutgoingCall {
    return this.#caller.open(request, sink);
  }

  /** Open calls in both directions, for tests of leaks. */
  get openCalls(): { outgoing: number; incoming: number } {
    return { outgoing: this.#caller.size, incoming: this.callee.size };
  }

  /** Sends queued messages and closes the connection. */
  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#gate.close();
    this.publisher.flush();
    if (!this.nc.isClosed()) await this.nc.drain().catch(() => this.nc.close());
  }

  #sweep(): void {
    const now = performance.now();
    if (now - this.#sweptAt > SWEEP_LATE_MS) {
      // This process was paused: messages that arrived during the pause are not read yet.
      this.#peers.stoodStill(now);
      this.#caller.stoodStill(now);
    }
    this.#sweptAt = now;
    const inUse = new Set<string>();
    this.#caller.sweep(now, inUse);
    this.callee.sweep(now, inUse);
    this.#peers.sweep(inUse);
  }

  async #watchLink(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === 'disconnect') {
        this.#connected = false;
        this.logger.warn({ server: status.server }, 'This service is not connected to NATS and reconnects.');
        this.#caller.disconnected();
        this.callee.disconnected();
      } else if (status.type === 'reconnect') {
        this.#connected = true;
        this.logger.info({ server: status.server }, 'the bus is back');
        this.#peers.reconnected();
        this.#caller.reconnected();
        for (const hook of this.#reconnectHooks) hook();
      } else if (status.type === 'error')
        this.logger.warn({ err: status.error }, 'the bus reported an error');
    }
  }
}
