// What the collections hold. Money is int64 nano-dollars, counts are int64, quantities are int64 thousandths of their
// unit (quantities.ts): nothing in the database is a binary fraction, so that every sum is exact.
import type { CallCompleted, LogEntry } from '@switchyard/contracts';

/** Quantities by (escaped) name, in thousandths. */
export type StoredQuantities = Record<string, bigint>;

/** What a row says about who and what: the dimensions of Usage. */
export interface Dimensions {
  org: string;
  key: string | null;
  type: string | null;
  model: string | null;
  maker: string | null;
  computer: string | null;
  /** How a call ended; absent of what is no call, and in rows of before it was kept. */
  status?: LogEntry['status'];
}

/** What is summed. */
export interface Amounts {
  /** Calls that reached a model; a computer's minute is none. */
  calls: bigint;
  /** Nano-dollars. */
  cost: bigint;
  quantities: StoredQuantities;
}

/** A ledger row before it has its number. Rows are never changed: a correction is a new row that names the old one. */
export interface UnnumberedRow extends Dimensions, Amounts {
  /** The id of the event that it books. */
  _id: string;
  kind:
    | 'call'
    | 'computer_minute'
    | 'video'
    | 'refund'
    | 'void'
    | 'credit'
    /** No event and no org's: here another layout of partitions begins (partitions/fence.ts). */
    | 'fence';
  /** When the thing that is charged ended. A void carries the time of its charge, so that any interval nets. */
  at: Date;
  /** Of a void: the row that it takes back, which may not be there yet. */
  voids?: string;
  /** Of a refund: the charge that it gives back, in whole or in part. */
  refunds?: string;
  /** The month in whose statement it is, and the line there: decided when it is booked (statements/months.ts). */
  month?: string;
  line?: string;
  /** The rates of its charge: `<unit> <dollars>`, or `<unit> <dollars>/<parts>` where parts of a unit were counted. */
  rates?: string[];
  /** Of a refund made by hand: which, by which key, and why. */
  refund?: { id: string; key: string; reason: string; reference: string | null };
  /** Of a video's refund that found part of the charge given back already: what it would have been. */
  asked_cost?: bigint;
  /** Of a credit: what was granted, to whom (indexed), by which key, and why. It costs nothing and is in no sum of Usage. */
  credit?: Credit;
  /** Of a call that was voided before its charge came: what it would have cost. It was booked at 0. */
  voided_cost?: bigint;
}

export interface Credit {
  org: string;
  key: string;
  /** Nano-dollars. */
  amount: bigint;
  reason: string;
  reference: string | null;
}

export interface LedgerRow extends UnnumberedRow {
  p: string;
  /** Consecutive within the partition, without a gap, from 1. */
  n: bigint;
}

/** One line of Logs. */
export interface LogRow extends Omit<Dimensions, 'status'> {
  /** The request id, or the id of a computer's minute or of a video's refund. */
  _id: string;
  source:
    | 'call.completed'
    | 'call.refused'
    | 'computer.metered'
    | 'video.charged'
    | 'video.refunded'
    | 'charge.refunded';
  at: Date;
  kind: LogEntry['kind'];
  status: LogEntry['status'];
  http_status: number | null;
  error_code: string | null;
  method: string | null;
  path: string | null;
  requested_model: string | null;
  /** The model that served and the one asked for: the filter `model` finds either. */
  models: string[];
  stream: boolean;
  cost: bigint;
  /** Nano-dollars that were charged, or would have been, had the call not been voided. */
  voided_cost?: bigint;
  basis: LogEntry['basis'];
  quantities: StoredQuantities;
  latency_ms: number | null;
  first_byte_ms: number | null;
  attempts: CallCompleted['attempts'];
  /** Of a video: the event that charges it; of everything else that is `_id`. */
  charge?: string;
  /** Of a refund: the id of the log row whose charge it gives back. */
  corrects?: string;
  /** Of a refund that was asked for. */
  correction?: NonNullable<LogEntry['correction']>;
}

/** The groupings that Usage knows, and the sum over all. Each has its own aggregates. */
export const FAMILIES = ['total', 'key', 'type', 'model', 'maker', 'computer', 'status'] as const;
export type Family = (typeof FAMILIES)[number];

/** What both kinds of aggregate say about themselves. */
export interface AggregateHead {
  /** `<partition>/<org>/<start>/<family>[=<value>]` */
  _id: string;
  p: string;
  org: string;
  family: Family;
  /** The key, type, model … of the family; null for rows that have none, and in the family `total`. */
  value: string | null;
  start: Date;
  /** The last ledger row that is in it: the fence against folding one twice. */
  n: bigint;
}

export interface StoredAmounts {
  calls: bigint;
  cost: bigint;
  quantities?: StoredQuantities;
}

export const QUARTERS = ['0', '1', '2', '3'] as const;
export type Quarter = (typeof QUARTERS)[number];

/** An hour, held as its four quarters: time zones are multiples of a quarter hour away from UTC. */
export interface HourAggregate extends AggregateHead {
  quarters: Partial<Record<Quarter, StoredAmounts>>;
}

/** A line of an org's statement of a month: sums of the ledger rows that name both. */
export interface StatementLineDocument extends StoredAmounts {
  _id: string;
  p: string;
  org: string;
  month: string;
  line: string;
  kind: 'usage' | 'refund';
  type: string | null;
  model: string | null;
  computer: string | null;
  /** Of an earlier month, which was closed. */
  late: boolean;
  n: bigint;
  /** All that were charged, each once. */
  rates?: string[];
}

/** A day in UTC. */
export interface DayAggregate extends AggregateHead, StoredAmounts {}

/** How far the aggregates are known to hold the ledger; written now and then, so it may lag. */
export interface Checkpoint {
  _id: string;
  n: bigint;
  /** What the aggregates were folded for: with others, they are folded again from the first row. */
  folded_for?: string;
}

/** How billing is split into partitions. Without a document: into one, for ever. */
export interface LayoutDocument {
  _id: string;
  /** Counts the layouts that there were. */
  epoch: number;
  partitions: number;
  /** The most partitions that any layout had. */
  ever: number;
  /** The message of the stream up to which everything was booked when the layout began; null: none may be passed over. */
  from: { seq: number; at: Date } | null;
  /** The number of partitions of the next layout, while billing is being split anew. */
  moving_to: number | null;
}

/** From when on the logs are whole: what is older may have been removed. */
export interface Retention {
  _id: string;
  logs_from: Date;
}

/** A message of the stream that no row could be made of. */
export interface Rejected {
  /** SHA-256 of subject and data: the same message, the same id. */
  _id: string;
  subject: string;
  seq: number;
  at: Date;
  reason: string;
  data: string;
}
