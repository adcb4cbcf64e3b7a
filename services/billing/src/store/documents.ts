// The documents of the collections. Money is int64 nano-dollars, counts are int64, quantities are int64 thousandths of
// their unit (quantities.ts). The database has no binary fractions, so every sum is exact.
import type {
  Actor,
  AuditedEvent,
  CallCompleted,
  Event,
  EventName,
  LedgerKind,
  LogEntry,
} from '@switchyard/contracts';

/** Quantities by (escaped) name, in thousandths. */
export type StoredQuantities = Record<string, bigint>;

/** The dimensions of Usage. */
interface Dimensions {
  org: string;
  key: string | null;
  type: string | null;
  model: string | null;
  maker: string | null;
  computer: string | null;
  /** `<name>:<value>`, sorted; absent without tags. */
  tags?: string[];
  /** How a call ended; absent for rows that are no call. */
  status?: LogEntry['status'];
}

/** The amounts that are summed. */
export interface Amounts {
  /** Number of calls that reached a model; a computer's minute counts as none. */
  calls: bigint;
  /** Nano-dollars. */
  cost: bigint;
  quantities: StoredQuantities;
}

/** A ledger row without its number. Rows are never changed: a correction is a new row that names the old one. */
export interface UnnumberedRow extends Dimensions, Amounts {
  /** Id of the booked event. */
  _id: string;
  kind: LedgerKind;
  /** End time of what is charged. A void has the time of its charge, so that every interval nets to zero. */
  at: Date;
  /** Video: id of its request. For a call, `_id` is that id. */
  request_id?: string;
  /** Void: id of the voided row, which may not exist yet. */
  voids?: string;
  /** Refund: id of the refunded charge. */
  refunds?: string;
  /** Refund: time of the refunded charge; absent when the charge was not booked yet. */
  charged_at?: Date;
  /** The rates of the charge: `<unit> <dollars>`, or `<unit> <dollars>/<parts>` where parts of a unit were counted. */
  rates?: string[];
  /** Manual refund: its id, the API key that made it, and the reason. */
  refund?: { id: string; key: string; reason: string; reference: string | null };
  /** Video's refund after a partial refund: the amount it would have had. */
  asked_cost?: bigint;
  /** Credit: amount, org (indexed), API key and reason. It costs nothing and is in no sum of Usage. */
  credit?: Credit;
  /** Call whose void came before its charge: the cost it would have had. It was booked at 0. */
  voided_cost?: bigint;
}

interface Credit {
  org: string;
  key: string;
  /** Nano-dollars. */
  amount: bigint;
  reason: string;
  reference: string | null;
}

export interface LedgerRow extends UnnumberedRow {
  /** The month and the line of its statement, decided at booking (statements/months.ts). */
  month: string;
  line: string;
  p: string;
  /** Consecutive from 1 within the partition, without a gap. */
  n: bigint;
}

/** One line of Logs. */
export interface LogRow extends Omit<Dimensions, 'status'> {
  /** Request id, or the id of a computer's minute or of a video's refund. */
  _id: string;
  source: EventName;
  at: Date;
  kind: LogEntry['kind'];
  status: LogEntry['status'];
  http_status: number | null;
  error_code: string | null;
  method: string | null;
  path: string | null;
  dialect: LogEntry['dialect'];
  requested_model: string | null;
  /** The model that served and the model that was requested: the filter `model` finds both. */
  models: string[];
  stream: boolean;
  cost: bigint;
  /** Nano-dollars that were charged before the void, or would have been charged without it. */
  voided_cost?: bigint;
  basis: LogEntry['basis'];
  quantities: StoredQuantities;
  latency_ms: number | null;
  first_byte_ms: number | null;
  attempts: CallCompleted['attempts'];
  client_request_id?: string;
  traceparent?: string;
  /** Video: id of the event that charges it. For everything else `_id` is that id. */
  charge?: string;
  /** Refund: id of the log row of the refunded charge. */
  corrects?: string;
  /** Manual refunds only. */
  correction?: NonNullable<LogEntry['correction']>;
}

/** The groupings of Usage, and the total. Each has its own aggregates. */
export const FAMILIES = ['total', 'key', 'type', 'model', 'maker', 'computer', 'status'] as const;
export type Family = (typeof FAMILIES)[number];

/** The common fields of both kinds of aggregates. */
export interface AggregateHead {
  /** `<partition>/<org>/<start>/<family>[=<value>]` */
  _id: string;
  p: string;
  org: string;
  family: Family;
  /** The key, type, model … of the family; null for rows without one, and in the family `total`. */
  value: string | null;
  start: Date;
  /** The last ledger row in the aggregate. It prevents folding a row twice. */
  n: bigint;
}

export interface StoredAmounts {
  calls: bigint;
  cost: bigint;
  quantities?: StoredQuantities;
}

export const QUARTERS = ['0', '1', '2', '3'] as const;
export type Quarter = (typeof QUARTERS)[number];

/** An hour, stored as four quarters: time zones differ from UTC by multiples of a quarter hour. */
export interface HourAggregate extends AggregateHead {
  quarters: Partial<Record<Quarter, StoredAmounts>>;
}

/** A line of an org's monthly statement: the sums of the ledger rows that name the month and the line. */
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
  /** The rows belong to an earlier month that had closed. */
  late: boolean;
  n: bigint;
  /** All charged rates, without duplicates. */
  rates?: string[];
}

/** A day in UTC. */
export interface DayAggregate extends AggregateHead, StoredAmounts {}

/** How far the aggregates are known to include the ledger. It is written occasionally, so it may lag. */
export interface Checkpoint {
  _id: string;
  n: bigint;
}

/** How billing is split into partitions. Without this document there is one partition. */
export interface LayoutDocument {
  _id: string;
  /** Number of the layout, counted up. */
  epoch: number;
  partitions: number;
  /** The largest number of partitions of any layout so far. */
  ever: number;
  /** The stream message up to which everything was booked when the layout began; null: skip nothing. */
  from: { seq: number; at: Date } | null;
  /** Number of partitions of the next layout during a move. */
  moving_to: number | null;
}

/** Time from which the logs are complete: older rows may have been removed. */
export interface Retention {
  _id: string;
  logs_from: Date;
}

/** A threshold that a budget has reached, with its event as it is published. */
export interface BudgetAlert {
  /** Id of the event: one for each budget, period and threshold. */
  _id: string;
  org: string;
  /** End of the period. */
  ends_at: Date;
  event: Event<'budget.threshold'>;
  /** Null until the stream has the event. */
  published_at: Date | null;
}

/** A line of the audit log. */
export interface AuditRow {
  /** Id of the event. */
  _id: string;
  type: AuditedEvent;
  at: Date;
  org: string;
  /** Id or name of what was changed. */
  target: string;
  actor: Actor | null;
  request_id: string | null;
  /** As JSON: names of tags in it may have dots. */
  changes: string;
  /** The new mark-up of an org, which only operators see. */
  markup_percent?: string;
}

/** A message of the stream that could not be booked. */
export interface Rejected {
  /** SHA-256 of subject and data: the same message has the same id. */
  _id: string;
  subject: string;
  seq: number;
  at: Date;
  reason: string;
  data: string;
}
