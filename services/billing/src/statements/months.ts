// The month whose statement includes a ledger row. It is decided once, at booking, and stored in the row, so a closed
// statement never changes. Pure.
import { hash } from 'node:crypto';
import { LEDGER_KINDS, STATEMENT_CLOSES_AFTER_HOURS } from '@switchyard/contracts';
import type { UnnumberedRow } from '../store/documents.ts';

const HOUR_MS = 3_600_000;
const CLOSES_AFTER_MS = STATEMENT_CLOSES_AFTER_HOURS * HOUR_MS;
/** Maximum difference between clocks of billing instances: one closes a month while another still books into it. */
export const CLOCKS_DIFFER_MS_MAX = 50_000;
/** Time from choosing a row's month until the row is in the ledger or abandoned (`ANSWER_MS_MAX`), plus a margin. */
const INSERT_MS_MAX = 10_000;
/** A month accepts no rows during this time before it closes. */
export const BOOKING_MS_MAX = CLOCKS_DIFFER_MS_MAX + INSERT_MS_MAX;
const LINE_ID_CHARACTERS = 16;

/** The month of a time in UTC: `2026-11`. */
export function monthOf(at: number): string {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1];
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
}

/** The first moment after a month, in milliseconds since the epoch. */
function endOfMonth(month: string): number {
  const first = new Date(`${month}-01T00:00:00Z`);
  return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1);
}

/** The month's statement never changes after this time. */
export function closesAt(month: string): number {
  return endOfMonth(month) + CLOSES_AFTER_MS;
}

/** The statement month of a row that is booked now: its own month, or the first open month when that is closed. */
export function bookedMonth(at: number, now: number): string {
  const firstOpen = monthOf(now + BOOKING_MS_MAX - CLOSES_AFTER_MS);
  const own = monthOf(at);
  const isOpen = own > firstOpen;
  return isOpen ? own : firstOpen;
}

/** The fields that identify a line of a statement. */
interface LineKey {
  readonly month: string;
  readonly kind: 'usage' | 'refund';
  readonly type: string | null;
  readonly model: string | null;
  readonly computer: string | null;
  readonly late: boolean;
}

/** A void is in the line of its charge and reduces it. */
export function lineKeyOf(row: UnnumberedRow & Pick<Place, 'month'>): LineKey {
  const { month, type, model, computer } = row;
  const late = month !== monthOf(row.at.getTime());
  return { month, kind: LEDGER_KINDS[row.kind].part, type, model, computer, late };
}

/** The id of a line; the same in every month. */
export function lineIdOf({ kind, type, model, computer, late }: LineKey): string {
  const text = JSON.stringify([kind, type, model, computer, late]);
  return `line_${hash('sha256', text, 'base64url').slice(0, LINE_ID_CHARACTERS)}`;
}

/** The place of a row in the statements. */
export interface Place {
  readonly month: string;
  readonly line: string;
}

/** The place of a row that is booked now. */
export function bookedPlace(row: UnnumberedRow, now: number): Place {
  const month = bookedMonth(row.at.getTime(), now);
  return { month, line: lineIdOf(lineKeyOf({ ...row, month })) };
}
