// Which month's statement a row of the ledger is in. It is decided once, when the row is booked, and written into it: a
// statement that is closed cannot change. Pure.
import { hash } from 'node:crypto';
import { STATEMENT_CLOSES_AFTER_HOURS } from '@switchyard/contracts';
import type { UnnumberedRow } from '../store/documents.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CLOSES_AFTER_MS = STATEMENT_CLOSES_AFTER_HOURS * HOUR_MS;
/** Clocks of instances of billing may differ by as much: one closes the month, another still books into it. */
export const CLOCKS_DIFFER_MS_MAX = 50_000;
/** From the decision in which month a row is, until it is in the ledger or was given up (`ANSWER_MS_MAX`), and a little. */
const INSERT_MS_MAX = 10_000;
/** So long before it closes, a month takes nothing any more. */
export const BOOKING_MS_MAX = CLOCKS_DIFFER_MS_MAX + INSERT_MS_MAX;
const LINE_ID_CHARACTERS = 16;

/** The month of UTC in which a moment lies: `2026-11`. */
export function monthOf(at: number): string {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1];
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
}

/** The first moment after a month, in milliseconds since the epoch. */
export function endOfMonth(month: string): number {
  const first = new Date(`${month}-01T00:00:00Z`);
  return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1);
}

/** From this moment on the month's statement stays as it is. */
export function closesAt(month: string): number {
  return endOfMonth(month) + CLOSES_AFTER_MS;
}

/** The month of a row that is booked now: its own, or where that is closed the first that is not. */
export function bookedMonth(at: number, now: number): string {
  const firstOpen = monthOf(now + BOOKING_MS_MAX - CLOSES_AFTER_MS);
  const own = monthOf(at);
  const isOpen = own > firstOpen;
  return isOpen ? own : firstOpen;
}

/** What a line of a statement sums up. */
export interface LineKey {
  readonly month: string;
  readonly kind: 'usage' | 'refund';
  readonly type: string | null;
  readonly model: string | null;
  readonly computer: string | null;
  readonly late: boolean;
}

/** A void is in the line of its charge, where it takes its part away. */
export function lineKeyOf(row: UnnumberedRow): LineKey {
  const { type, model, computer } = row;
  const own = monthOf(row.at.getTime());
  const month = row.month ?? own;
  const kind = row.kind === 'refund' ? 'refund' : 'usage';
  return { month, kind, type, model, computer, late: month !== own };
}

/** The same in every month for the same things. */
export function lineIdOf({ kind, type, model, computer, late }: LineKey): string {
  const text = JSON.stringify([kind, type, model, computer, late]);
  return `line_${hash('sha256', text, 'base64url').slice(0, LINE_ID_CHARACTERS)}`;
}

/** Where a row is in the statements. */
export interface Place {
  readonly month: string;
  readonly line: string;
}

/** Tells the places of rows that are booked now: found once for all rows of one day and line, of which a batch is full. */
export function placesAt(now: number): (row: UnnumberedRow) => Place {
  const places = new Map<string, Place>();
  return (row) => {
    const { type, model, computer } = row;
    const day = Math.floor(row.at.getTime() / DAY_MS);
    const key = JSON.stringify([day, row.kind === 'refund', type, model, computer]);
    let place = places.get(key);
    if (!place) {
      const month = bookedMonth(row.at.getTime(), now);
      place = { month, line: lineIdOf(lineKeyOf({ ...row, month })) };
      places.set(key, place);
    }
    return place;
  };
}
