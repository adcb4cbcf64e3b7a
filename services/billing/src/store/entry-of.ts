// Makes the entry of an event by its line in the table of events.
import { type Event, type EventName, LEDGER_KINDS, type LedgerKind } from '@switchyard/contracts';
import type { Entry } from './entries.ts';
import { type Booked, EVENT_TABLE } from './event-table.ts';
import { newLedgerRow, newLogRow } from './new-rows.ts';

type AnyBooked = Booked<EventName> & { readonly kind: LedgerKind | null };

/** The line of an event; TypeScript cannot express that the line and the event have the same name. */
function lineOf(name: EventName): AnyBooked | null {
  const line = EVENT_TABLE[name];
  return line === 'free' ? null : (line as unknown as AnyBooked);
}

/**
 * The entry of an event; null for events that billing ignores.
 * @throws RangeError when the event contradicts itself, or has a figure that cannot be booked
 */
export function entryOf(event: Event): Entry | null {
  const line = lineOf(event.type);
  if (!line) return null;
  const { id, type: source, data } = event;
  if (id !== line.id(data)) throw new RangeError(`the event ${id} should have the id ${line.id(data)}`);
  const head = { _id: id, at: new Date(event.time), org: data.org };
  const fields = line.convert(event);
  if ('voids' in fields) return { what: 'void', id, org: head.org, at: head.at, requestId: fields.voids };
  const { both, row: own = {}, log: logged } = fields;
  const { kind } = line;
  const row = kind === null || own === null ? null : newLedgerRow({ ...head, kind, ...both, ...own });
  const logKind = kind === null ? line.log : LEDGER_KINDS[kind].log;
  const log = logKind ? newLogRow({ ...head, source, kind: logKind, ...both, ...logged }) : null;
  if (!('charge' in fields)) return { what: 'occurrence', log, row };
  if (!row || !log) throw new Error(`${source} needs a ledger row and a log row`);
  return { what: 'refund', log, row, charge: fields.charge, number: fields.number };
}

/** Kinds of ledger rows whose event may be repeated with another time. */
export const KINDS_REPEATED_LATER: readonly (LedgerKind | null)[] = Object.values(EVENT_TABLE).flatMap(
  (line) => (line !== 'free' && line.audit === 'any_time' ? line.kind : []),
);
