// Reads the ledger rows of an org in a range of time.
import { invalidParam } from '@switchyard/contracts';
import type { Family, LedgerRow } from '../store/documents.ts';
import type { Store } from '../store/store.ts';

/** Maximum number of ledger rows for one answer. */
const LEDGER_ROWS_MAX = 1_000_000;
export const CURSOR = { batchSize: 2_000 } as const;

type Dimension = Exclude<Family, 'total'>;

export interface LedgerRange {
  readonly org: string;
  /** Milliseconds since the epoch; `from` is inside, `to` is not. */
  readonly from: number;
  readonly to: number;
  /** Only rows with these values of dimensions. */
  readonly only: Readonly<Record<string, string>>;
  /** A field to read besides time and amounts. */
  readonly field: Dimension | 'tags' | null;
  /** Ends the read: the process that books does not add up rows for a caller that is gone. */
  readonly signal: AbortSignal | undefined;
}

/** @throws ServiceError `invalid_request` when there are too many rows; the reason of the signal */
export async function* readLedger(
  { ledger }: Store,
  { org, from, to, only, field, signal }: LedgerRange,
): AsyncGenerator<LedgerRow> {
  const projection = { at: 1, calls: 1, cost: 1, quantities: 1, ...(field ? { [field]: 1 } : {}) };
  const at = { $gte: new Date(from), $lt: new Date(to) };
  let count = 0;
  for await (const row of ledger.find({ org, at, ...only }, { projection, ...CURSOR })) {
    signal?.throwIfAborted();
    count += 1;
    if (count > LEDGER_ROWS_MAX)
      throw invalidParam(
        'from',
        `the range has over ${LEDGER_ROWS_MAX} charges to add up. Narrow from and to.`,
      );
    yield row;
  }
}
