// An entry is what one event adds to the ledger and the log. entry-of.ts creates entries; batch-plan.ts decides their
// rows.
import type { LogRow, UnnumberedRow } from './documents.ts';

/** A call, a minute, a video or a credit: a log row, a ledger row, or both. */
export interface Occurrence {
  readonly what: 'occurrence';
  readonly log: LogRow | null;
  readonly row: UnnumberedRow | null;
}

/** Voids a charge, which may not exist yet. */
export interface Void {
  readonly what: 'void';
  readonly id: string;
  readonly org: string;
  readonly requestId: string;
  readonly at: Date;
}

/** A manual refund. Its charge supplies the other dimensions of both rows. */
export interface Refund {
  readonly what: 'refund';
  readonly log: LogRow;
  readonly row: UnnumberedRow;
  /** Id of the event that charged. */
  readonly charge: string;
  readonly number: number;
}

export type Entry = Occurrence | Void | Refund;

/** Id of the ledger row of an entry; null: the entry has only a log row. */
export function rowIdOf(entry: Entry): string | null {
  return entry.what === 'void' ? entry.id : (entry.row?._id ?? null);
}
