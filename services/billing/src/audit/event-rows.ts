// Events against what was booked of them. What a row must be is decided by the code that books (`planBatch`): each event
// is planned alone, against those rows of the ledger that have a lower number than its own. So the order in which
// billing met a charge and its void, and rows whose events are no longer in the stream, come out as they are.
import type { JsMsg } from '@nats-io/jetstream';
import type { Logger } from '@switchyard/service';
import type { LedgerOrder } from '../partitions/ledger-order.ts';
import { readBatch, rejectedOf } from '../read-batch.ts';
import { idsToLookUp, planBatch } from '../store/batch-plan.ts';
import type { LedgerRow, LogRow, UnnumberedRow } from '../store/documents.ts';
import type { Entry } from '../store/entries.ts';
import type { Store } from '../store/store.ts';
import { byId } from './batches.ts';
import type { Findings } from './drift.ts';

export interface EventCheck {
  readonly store: Store;
  readonly findings: Findings;
  readonly order: LedgerOrder;
  /** From here on every log row is there. */
  readonly logsSince: Date;
  /** Events up to this sequence must be booked; later ones may be on their way. */
  readonly bookedSeq: number;
}

/** What a batch of messages says should be in the ledger: the row of each event, built anew. */
export interface RowsAnew {
  readonly rows: { readonly row: UnnumberedRow; readonly seq: number }[];
  readonly rejected: number;
}

/** Alarms about what the messages say were raised when they were booked. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger;

/** Compares the ledger and log rows of these messages' events with what the events say. */
export async function checkEvents(check: EventCheck, messages: readonly JsMsg[]): Promise<RowsAnew> {
  const { store } = check;
  const { entries, sources, rejectedMessages } = readBatch(messages, SILENT);
  const ledger = await byId(store.ledger.find({ _id: { $in: idsToLookUp(entries) } }));
  const unread = await rejectedAmong(store, rejectedMessages);
  for (const message of rejectedMessages)
    if (!unread.has(message) && message.seq <= check.bookedSeq)
      check.findings.add({
        ...{ kind: 'event_unread', org: null, subject: `message ${message.seq}` },
        detail: `on ${message.subject}`,
      });
  const rows: RowsAnew['rows'] = [];
  const suspects: Suspect[] = [];
  const lines: ExpectedLine[] = [];
  for (const entry of entries) {
    const message = sources.get(entry);
    if (!message) continue;
    const id = rowIdOf(entry);
    const { row, log } = planAnew(entry, id, ledger, check.order);
    if (log) lines.push({ message, log });
    if (id === null) continue;
    const live = ledger.get(id);
    rows.push({ row, seq: message.seq });
    if (!live) {
      if (message.seq <= check.bookedSeq) suspects.push({ message, row, live: null });
    } else if (!isToldAgain(live, row) && shown(live) !== shown(withStatusOf(live, row)))
      suspects.push({ message, row, live });
  }
  const rejected = await reportUnlessRejected(check, suspects);
  await checkLogRows(
    check,
    lines.filter(({ message }) => !rejected.has(message)),
  );
  return { rows, rejected: rejected.size + rejectedMessages.length };
}

interface Suspect {
  readonly message: JsMsg;
  readonly row: UnnumberedRow;
  readonly live: LedgerRow | null;
}

/** An event that contradicts the ledger is kept among the rejected, and changed nothing: that is no drift. */
async function reportUnlessRejected({ store, findings }: EventCheck, suspects: readonly Suspect[]) {
  const rejected = await rejectedAmong(
    store,
    suspects.map(({ message }) => message),
  );
  for (const { message, row, live } of suspects) {
    if (rejected.has(message)) continue;
    const { _id: subject, org } = row;
    if (!live)
      findings.add({
        ...{ kind: 'event_not_booked', org, subject },
        detail: `message ${message.seq} of ${message.time.toISOString()}: ${shown(row)}`,
      });
    else
      findings.add({
        kind: 'row_differs',
        org,
        subject,
        detail: `it says ${shown(live)}; its event ${shown(row)}`,
      });
  }
  return rejected;
}

async function rejectedAmong(store: Store, messages: readonly JsMsg[]): Promise<Set<JsMsg>> {
  if (messages.length === 0) return new Set();
  const ids = new Map(messages.map((message) => [message, rejectedOf(message, '')._id]));
  const kept = await byId(
    store.rejected.find({ _id: { $in: [...ids.values()] } }, { projection: { _id: 1 } }),
  );
  return new Set(messages.filter((message) => kept.has(ids.get(message) ?? '')));
}

function rowIdOf(entry: Entry): string | null {
  if (entry.what === 'void') return entry.id;
  return entry.what === 'occurrence' ? (entry.charge?._id ?? null) : entry.row._id;
}

/** What booking this event writes, after the rows that it was booked after. */
function planAnew(
  entry: Entry,
  id: string | null,
  ledger: ReadonlyMap<string, LedgerRow>,
  order: LedgerOrder,
) {
  const own = id === null ? undefined : ledger.get(id);
  const before = idsToLookUp([entry]).flatMap((other) => {
    const row = ledger.get(other);
    return row && other !== id && (!own || order.isBefore(row, own)) ? [row] : [];
  });
  const { rows, logs } = planBatch([entry], before);
  // A void of what is no call, or of another org's, makes no row; nor should there be one.
  return { row: rows[0] ?? nothing(entry, id ?? ''), log: logs[0] ?? null };
}

/**
 * What is told again after a crash may have another time than the one that was booked: a minute by the next agent, a void
 * by the next edge. Their times are held to the logs.
 */
const TOLD_AGAIN: readonly LedgerRow['kind'][] = ['computer_minute', 'void'];

function isToldAgain(live: LedgerRow, row: UnnumberedRow): boolean {
  return TOLD_AGAIN.includes(row.kind) && shown({ ...live, at: row.at }) === shown(row);
}

/** Ledger rows of before 26-11 do not say how a call ended. */
function withStatusOf(live: LedgerRow, { status, ...row }: UnnumberedRow): UnnumberedRow {
  return live.status === undefined || status === undefined ? row : { ...row, status };
}

function nothing(entry: Entry, id: string): UnnumberedRow {
  const nobody = { key: null, type: null, model: null, maker: null, computer: null };
  const org = entry.what === 'void' ? entry.org : '';
  return { _id: id, kind: 'void', at: new Date(0), org, ...nobody, calls: 0n, cost: 0n, quantities: {} };
}

/** What a row says, without its number: the same words for the same row. */
function shown(row: UnnumberedRow | LedgerRow): string {
  const { kind, org, key, type, model, maker, computer, at, calls, cost, voids, refunds } = row;
  const { credit, voided_cost, asked_cost, refund, status, quantities } = row;
  return JSON.stringify(
    {
      ...{
        kind,
        org,
        key,
        type,
        model,
        maker,
        computer,
        at,
        calls,
        cost,
        voids,
        refunds,
        voided_cost,
        asked_cost,
        status,
      },
      refund: refund && [refund.id, refund.key, refund.reason, refund.reference],
      credit: credit && [credit.org, credit.key, credit.amount, credit.reason, credit.reference],
      quantities: Object.entries(quantities).sort(([a], [b]) => (a < b ? -1 : 1)),
    },
    (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  );
}

interface ExpectedLine {
  readonly message: JsMsg;
  readonly log: LogRow;
}

/** The log rows of events: those of refused calls too, which have no ledger row that would miss them. */
async function checkLogRows(
  { store, findings, logsSince, bookedSeq }: EventCheck,
  all: readonly ExpectedLine[],
): Promise<void> {
  const expected = all
    .filter(({ message, log }) => message.seq <= bookedSeq && log.at >= logsSince)
    .map(({ log }) => log);
  const lines = await byId(store.logs.find({ _id: { $in: expected.map(({ _id }) => _id) } }));
  for (const log of expected) {
    const line = lines.get(log._id);
    const { _id: subject, org } = log;
    if (!line) findings.add({ kind: 'event_not_logged', org, subject, detail: log.source });
    else if (line.source === log.source && !saysTheSame(line, log))
      findings.add({
        ...{ kind: 'log_differs', org, subject },
        detail: `the log says ${line.cost} nano-dollars, ${line.org}, ${line.key}, ${line.at.toISOString()}; its event ${log.cost}, ${log.org}, ${log.key}, ${log.at.toISOString()}`,
      });
  }
}

function saysTheSame(line: LogRow, log: LogRow): boolean {
  const costOf = (row: LogRow) => row.voided_cost ?? row.cost;
  return (
    costOf(line) === costOf(log) &&
    line.org === log.org &&
    line.key === log.key &&
    (log.source === 'computer.metered' || line.at.getTime() === log.at.getTime())
  );
}
