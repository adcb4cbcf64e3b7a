// Makes the entry of an event from its definition and its fields.
import {
  type BookedEventName,
  bookedAs,
  EVENTS,
  type Event,
  type EventName,
  LEDGER_KINDS,
  type LedgerKind,
} from '@switchyard/contracts';
import type { Entry } from './entries.ts';
import { ENTRY_FIELDS, type EntryFields } from './entry-fields.ts';
import { newLedgerRow, newLogRow } from './new-rows.ts';
import { takenBackBy } from './refund-rows.ts';

/**
 * The entry of an event; null for events that billing ignores.
 * @throws RangeError when the event contradicts itself, or has a figure that cannot be booked
 */
export function entryOf(event: Event): Entry | null {
  const booked = bookedAs(event.type);
  if (!booked) return null;
  const { id, type: source, data } = event as Event<BookedEventName>;
  if (id !== booked.id(data)) throw new RangeError(`the event ${id} should have the id ${booked.id(data)}`);
  const head = { _id: id, at: new Date(event.time), org: data.org };
  const fields = (ENTRY_FIELDS[source] as (booked: Event) => EntryFields)(event);
  if ('voids' in fields) return { what: 'void', id, org: head.org, at: head.at, requestId: fields.voids };
  const { kind } = booked;
  const { both, row: own = {}, log: logged } = fields;
  const row = kind === null || own === null ? null : newLedgerRow({ ...head, kind, ...both, ...own });
  const logKind = kind === null ? booked.log : LEDGER_KINDS[kind].log;
  const log = logKind ? newLogRow({ ...head, source, kind: logKind, ...both, ...logged }) : null;
  if (!('charge' in fields)) {
    if (row?.refunds !== undefined && !takenBackBy(row.refunds).includes(id))
      throw new Error(`takenBackBy lacks ${id}: what it returns could be refunded again`);
    return { what: 'occurrence', log, row };
  }
  if (!row || !log) throw new Error(`${source} needs a ledger row and a log row`);
  return { what: 'refund', log, row, charge: fields.charge, number: fields.number };
}

/** Kinds of ledger rows whose event may be repeated with another time. */
export const KINDS_REPEATED_LATER: readonly (LedgerKind | null)[] = (
  Object.keys(EVENTS) as EventName[]
).flatMap((name) => {
  const booked = bookedAs(name);
  return booked?.repeats === 'any_time' ? booked.kind : [];
});
