// The database of billing and its client. No other service reads or writes it.
import { type Collection, type Db, MongoClient } from 'mongodb';
import type {
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
}

/**
 * A client with majority writes that are on disk, majority reads that cannot be rolled back, and every int64 as a
 * BigInt. It connects on first use and reconnects when necessary.
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

/** The database that the URL names, else `switchyard`. */
export function databaseOf(client: MongoClient, url: string): Db {
  return NAMES_A_DATABASE.test(url) ? client.db() : client.db(DATABASE_DEFAULT);
}

export function openStore(db: Db): Store {
  return {
    ledger: db.collection('ledger'),
    logs: db.collection('logs'),
    aggregates: openAggregates(db),
    checkpoints: db.collection('checkpoints'),
    rejected: db.collection('rejected'),
    retention: db.collection('retention'),
    layout: db.collection('layout'),
  };
}

/** The aggregates; with a prefix, a second set into which a test rebuilds them. */
export function openAggregates(db: Db, prefix = ''): Aggregates {
  return {
    hours: db.collection(`${prefix}usage_hours`),
    days: db.collection(`${prefix}usage_days`),
    lines: db.collection(`${prefix}statement_lines`),
  };
}
