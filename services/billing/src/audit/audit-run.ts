// State that the steps of one audit share.
import type { Bus } from '@switchyard/bus';
import type { LedgerOrder } from '../partitions/ledger-order.ts';
import type { LedgerRow } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import type { Findings } from './drift.ts';
import type { SumsByOrg } from './org-sums.ts';
import type { Rechecks } from './rechecks.ts';

export interface AuditRun {
  readonly bus: Bus;
  readonly store: Store;
  /**
   * An empty database for what the audit rebuilds: aggregates from the ledger, and a ledger from the events, in which
   * `n` is the sequence in the stream.
   */
  readonly work: Store;
  readonly findings: Findings;
  readonly sums: SumsByOrg;
  readonly rechecks: Rechecks;
  /** The common ledger number of each partition: the audit compares everything as of this row. */
  readonly upTo: ReadonlyMap<string, bigint>;
  readonly order: LedgerOrder;
  /** The logs are complete from this time on. */
  readonly logsSince: Date;
  /** All events up to this sequence were acknowledged before the audit began. */
  readonly bookedSeq: number;
  /** The last event that the audit reads. */
  readonly lastSeq: number;
}

/** Whether the audit compares this row. */
export function isWithin({ upTo }: Pick<AuditRun, 'upTo'>, { p, n }: Pick<LedgerRow, 'p' | 'n'>): boolean {
  return n <= (upTo.get(p) ?? 0n);
}
