// The database of billing and its client. No other service reads or writes it.
import { type Logger, sleep, systemClock } from '@switchyard/service';
import { type Collection, type Db, MongoClient } from 'mongodb';
import { answered } from './answered.ts';
import type {
  AuditRow,
  BudgetAlert,
  Checkpoint,
  DayAggregate,
  HourAggregate,
  LayoutDocument,
  LedgerRow,
  LogRow,
  Rejected,
  Retention,
  StatementLineDocument,
} from './documents.ts';

const SERVER_SELECTION_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** Maximum wait of one write for the other members of a replica set. */
const WRITE_TIMEOUT_MS = 5_000;
/** A server that is silent for this long is given up; recovery finds out which writes it executed. */
const SOCKET_TIMEOUT_MS = 6_000;
const HEARTBEAT_MS = 2_000;
const CONNECTIONS_MAX = 20;
/** Pause between two attempts to connect to a server that is down. */
const CONNECT_AGAIN_MS = 500;

const DATABASE_DEFAULT = 'switchyard';
const NAMES_A_DATABASE = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

/** The sums of ledger rows: hours and days of Usage, and lines of statements. */
export interface Aggregates {
  readonly hours: Collection<HourAggregate>;
  readonly days: Collection<DayAggregate>;
  readonly lines: Collection<StatementLineDocument>;
}
export const AGGREGATES = ['hours', 'days', 'lines'] as const satisfies (keyof Aggregates)[];

export interface Store {
  readonly ledger: Collection<LedgerRow>;
  readonly logs: Collection<LogRow>;
  readonly aggregates: Aggregates;
  readonly checkpoints: Collection<Checkpoint>;
  readonly rejected: Collection<Rejected>;
  readonly retention: Collection<Retention>;
  readonly layout: Collection<LayoutDocument>;
  readonly alerts: Collection<BudgetAlert>;
  readonly auditLog: Collection<AuditRow>;
}

/**
 * A client with majority writes that are on disk, majority reads that cannot be rolled back, and every int64 as a
 * BigInt.
 * @param options.silenceMs time after which a silent server is given up
 */
export function makeMongoClient(url: string, { silenceMs = SOCKET_TIMEOUT_MS } = {}): MongoClient {
  return new MongoClient(url, {
    appName: 'switchyard-billing',
    useBigInt64: true,
    ignoreUndefined: true,
    writeConcern: { w: 'majority', journal: true, wtimeoutMS: WRITE_TIMEOUT_MS },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    serverSelectionTimeoutMS: SERVER_SELECTION_TIMEOUT_MS,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    socketTimeoutMS: silenceMs,
    heartbeatFrequencyMS: HEARTBEAT_MS,
    maxPoolSize: CONNECTIONS_MAX,
  });
}

/**
 * Connects, and tries again until the server is there or the signal is aborted. Call this before the first operation:
 * a client whose first connection fails refuses all operations (driver 7.8). It reconnects by itself later.
 */
export async function connectWhenThere(
  client: MongoClient,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted)
    try {
      await answered(client.connect());
      return;
    } catch (error) {
      logger.warn({ err: error }, 'the database cannot be reached; retrying');
      await sleep(CONNECT_AGAIN_MS, systemClock, signal);
    }
}

/** The database that the URL names, else `switchyard`. */
export function databaseOf(client: MongoClient, url: string): Db {
  return NAMES_A_DATABASE.test(url) ? client.db() : client.db(DATABASE_DEFAULT);
}

export function openStore(db: Db): Store {
  return {
    ledger: db.collection('ledger'),
    logs: db.collection('logs'),
    aggregates: {
      hours: db.collection('usage_hours'),
      days: db.collection('usage_days'),
      lines: db.collection('statement_lines'),
    },
    checkpoints: db.collection('checkpoints'),
    rejected: db.collection('rejected'),
    retention: db.collection('retention'),
    layout: db.collection('layout'),
    alerts: db.collection('budget_alerts'),
    auditLog: db.collection('audit_log'),
  };
}
