// Compares events with their rows. `planBatch`, the code that books, computes the expected row: each event is planned
// alone, against the ledger rows with a lower number than its own. This reproduces the order in which billing received
// a charge and its void, and works when older events have left the stream. The amount that each message states is also
// compared without that code (stated-amounts.ts).
import type { JsMsg } from '@nats-io/jetstream';
import type { Logger } from '@switchyard/service';
import type { LedgerOrder } from '../partitions/ledger-order.ts';
import { entriesOf, readBatch, rejectedOf } from '../read-batch.ts';
import { idsToLookUp, planBatch } from '../store/batch-plan.ts';
import type { LedgerRow, UnnumberedRow } from '../store/documents.ts';
import { type Entry, rowIdOf } from '../store/entries.ts';
import { KINDS_REPEATED_LATER } from '../store/entry-of.ts';
import { newLedgerRow } from '../store/new-rows.ts';
import type { Store } from '../store/store.ts';
import { readById } from './batches.ts';
import type { Drift, Findings } from './drift.ts';
import { amountOf, isBooked, isSumOfLines, type StatedAmount } from './stated-amounts.ts';

interface EventCheck {
  readonly store: Store;
  readonly findings: Findings;
  readonly order: LedgerOrder;
  /** Events up to this sequence must be booked; later ones may still be in progress. */
  readonly bookedSeq: number;
}

/** The expected ledger rows of a batch of messages, one per event. */
interface ExpectedRows {
  readonly rows: { readonly row: UnnumberedRow; readonly seq: number }[];
  readonly rejected: number;
}

/** Discards alarms: billing raised them when it booked the messages. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger;

/** Compares the ledger rows of these messages with their events. */
export async function checkEvents(check: EventCheck, messages: readonly JsMsg[]): Promise<ExpectedRows> {
  const { store } = check;
  const { read, rejected: invalid } = readBatch(messages, SILENT);
  const stated = messages.flatMap((message) => amountOf(message) ?? []);
  const ids = new Set([...idsToLookUp(entriesOf(read)), ...stated.map(({ id }) => id)]);
  const ledger = await readById(store.ledger.find({ _id: { $in: [...ids] } }));
  const stored = await rejectedAmong(store, [...invalid.keys()]);
  for (const message of invalid.keys())
    if (!stored.has(message) && message.seq <= check.bookedSeq)
      check.findings.add({
        ...{ kind: 'event_unread', org: null, subject: `message ${message.seq}` },
        detail: `on ${message.subject}`,
      });
  const rows: ExpectedRows['rows'] = [];
  const suspects: Suspect[] = [];
  for (const { message, entry } of read) {
    const id = entry && rowIdOf(entry);
    if (!entry || id === null) continue;
    const row = planExpected(entry, id, ledger, check.order);
    const live = ledger.get(id);
    rows.push({ row, seq: message.seq });
    if (!live) suspects.push(notBooked(message, row, shown(row)));
    else if (!isRepeatedLater(live, row) && shown(live) !== shown(row))
      suspects.push(differs(message, row, `it says ${shown(live)}; its event ${shown(row)}`));
  }
  for (const one of stated) {
    const { message, id, org, amount } = one;
    const live = ledger.get(id);
    const statement = `the message states ${amount} nano-dollars of ${org}`;
    if (!live) suspects.push(notBooked(message, { _id: id, org }, statement));
    else if (!isBooked(one, live))
      suspects.push(differs(message, live, `it says ${shown(live)}; ${statement}`));
    if (!isSumOfLines(one)) suspects.push(notItsLines(one));
  }
  const rejected = await reportUnlessRejected(check, suspects);
  return { rows, rejected: rejected + invalid.size };
}

interface Suspect {
  readonly message: JsMsg;
  readonly drift: Drift;
}

type Subject = Pick<UnnumberedRow, '_id' | 'org'>;

function notBooked(message: JsMsg, { _id: subject, org }: Subject, expected: string): Suspect {
  const detail = `message ${message.seq} of ${message.time.toISOString()}: ${expected}`;
  return { message, drift: { kind: 'event_not_booked', org, subject, detail } };
}

function differs(message: JsMsg, { _id: subject, org }: Subject, detail: string): Suspect {
  return { message, drift: { kind: 'row_differs', org, subject, detail } };
}

function notItsLines({ message, id: subject, org, amount, lines }: StatedAmount): Suspect {
  const detail = `message ${message.seq} states ${amount} nano-dollars for ${JSON.stringify(lines)}`;
  return { message, drift: { kind: 'event_differs', org, subject, detail } };
}

/**
 * A rejected event contradicted the ledger and changed nothing, so it is no drift. An event that was not acknowledged
 * when the audit began may not be booked yet.
 * @returns the number of messages that were rejected
 */
async function reportUnlessRejected(
  { store, findings, bookedSeq }: EventCheck,
  suspects: readonly Suspect[],
): Promise<number> {
  const rejected = await rejectedAmong(
    store,
    suspects.map(({ message }) => message),
  );
  for (const { message, drift } of suspects) {
    const mayFollow = drift.kind === 'event_not_booked' && message.seq > bookedSeq;
    if (!rejected.has(message) && !mayFollow) findings.add(drift);
  }
  return rejected.size;
}

async function rejectedAmong(store: Store, messages: readonly JsMsg[]): Promise<Set<JsMsg>> {
  if (messages.length === 0) return new Set();
  const ids = new Map(messages.map((message) => [message, rejectedOf(message, '')._id]));
  const kept = await readById(
    store.rejected.find({ _id: { $in: [...ids.values()] } }, { projection: { _id: 1 } }),
  );
  return new Set(messages.filter((message) => kept.has(ids.get(message) ?? '')));
}

/** The row that booking this event writes, given the rows booked before it. */
function planExpected(
  entry: Entry,
  id: string,
  ledger: ReadonlyMap<string, LedgerRow>,
  order: LedgerOrder,
): UnnumberedRow {
  const own = ledger.get(id);
  const before = idsToLookUp([entry]).flatMap((other) => {
    const row = ledger.get(other);
    return row && other !== id && (!own || order.isBefore(row, own)) ? [row] : [];
  });
  const [row] = planBatch([entry], before).rows;
  // A void without a call, or of another org's call, must have no row.
  const org = entry.what === 'void' ? entry.org : '';
  return row ?? newLedgerRow({ _id: id, kind: 'void', at: new Date(0), org });
}

/** Whether the event repeats the booked one with another time. The logs have the booked time. */
function isRepeatedLater(live: LedgerRow, row: UnnumberedRow): boolean {
  return KINDS_REPEATED_LATER.includes(row.kind) && shown({ ...live, at: row.at }) === shown(row);
}

/** The fields of a row that its event decides, as text: without number, statement line and rates. */
function shown(row: UnnumberedRow | LedgerRow): string {
  const { _id, p, n, month, line, rates, ...fields } = row as LedgerRow;
  return JSON.stringify(fields, (_name, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
