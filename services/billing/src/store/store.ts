// The database of billing, and how it is spoken to. No other service reads or writes it.
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
/** How long one write may wait for the other members of a replica set. */
const WRITE_TIMEOUT_MS = 5_000;
/** A server that says nothing for this long is given up; what it was told is found out on recovery. */
const SOCKET_TIMEOUT_MS = 6_000;
const HEARTBEAT_MS = 2_000;
const CONNECTIONS_MAX = 20;

const DATABASE_DEFAULT = 'switchyard';
const NAMES_A_DATABASE = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

export interface Aggregates {
  readonly hours: Collection<HourAggregate>;
  readonly days: Collection<DayAggregate>;
}

export interface Store {
  readonly ledger: Collection<LedgerRow>;
  readonly logs: Collection<LogRow>;
  readonly aggregates: Aggregates;
  readonly statementLines: Collection<StatementLineDocument>;
  readonly checkpoints: Collection<Checkpoint>;
  readonly rejected: Collection<Rejected>;
  readonly retention: Collection<Retention>;
  readonly layout: Collection<LayoutDocument>;
}

/**
 * A client whose writes are on the disks of a majority before they count, which reads nothing that could be rolled
 * back, and which gives every int64 as a BigInt. It connects when first used, and again whenever it has to.
 * @param options.silenceMs after which a server that says nothing is given up
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
    statementLines: db.collection('statement_lines'),
    checkpoints: db.collection('checkpoints'),
    rejected: db.collection('rejected'),
    retention: db.collection('retention'),
    layout: db.collection('layout'),
  };
}

/** The aggregates; under another prefix, a second set of them: where an audit rebuilds them to compare. */
export function openAggregates(db: Db, prefix = 'usage'): Aggregates {
  return { hours: db.collection(`${prefix}_hours`), days: db.collection(`${prefix}_days`) };
}
