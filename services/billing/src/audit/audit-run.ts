// What the steps of one audit share.
import type { Bus } from '@switchyard/bus';
import type { LedgerOrder } from '../partitions/ledger-order.ts';
import type { LedgerRow } from '../store/documents.ts';
import type { Aggregates, Store } from '../store/store.ts';
import type { Findings } from './drift.ts';
import type { SumsByOrg } from './org-sums.ts';
import type { Patience } from './patience.ts';

/** Where the audit writes: the collections of an empty database of its own. */
export interface Workplace {
  /** Built anew from the ledger. */
  readonly aggregates: Aggregates;
  readonly statementLines: Store['statementLines'];
  /** Built anew from the events; `n` is the sequence in the stream. */
  readonly ledger: Store['ledger'];
}

export interface AuditRun {
  readonly bus: Bus;
  readonly store: Store;
  readonly work: Workplace;
  readonly findings: Findings;
  readonly sums: SumsByOrg;
  readonly patience: Patience;
  /** By partition, the common ledger number: everything is compared as it was when this row was the last. */
  readonly upTo: ReadonlyMap<string, bigint>;
  readonly order: LedgerOrder;
  /** From here on every log row is there. */
  readonly logsSince: Date;
  /** All events up to this sequence were acknowledged before the audit began. */
  readonly bookedSeq: number;
  /** The last event that the audit reads. */
  readonly lastSeq: number;
}

/** Whether a row is one of those that are compared. */
export function isWithin({ upTo }: Pick<AuditRun, 'upTo'>, { p, n }: Pick<LedgerRow, 'p' | 'n'>): boolean {
  return n <= (upTo.get(p) ?? 0n);
}
