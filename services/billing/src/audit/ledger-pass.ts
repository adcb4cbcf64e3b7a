// The ledger from its first row to the last: numbers without a gap, sums by org, each row's log row, and the
// aggregates built anew, as billing builds them.

import type { LedgerRow } from '../store/documents.ts';
import { foldRows } from '../store/fold.ts';
import { PARTITION } from '../store/partition.ts';
import type { AuditRun } from './audit-run.ts';
import { inBatches } from './batches.ts';
import { checkLogsOf } from './log-rows.ts';

export interface LedgerFacts {
  readonly rows: number;
  readonly gapless: boolean;
  /** Rows older than the logs that are kept. */
  readonly rowsBeforeLogs: number;
}

export async function passLedger(run: AuditRun): Promise<LedgerFacts> {
  const { store, work, upTo } = run;
  let rows = 0;
  let rowsBeforeLogs = 0;
  let expected = 1n;
  let gapless = true;
  const all = store.ledger.find({ p: PARTITION, n: { $gte: 1n, $lte: upTo } }).sort({ n: 1 });
  for await (const batch of inBatches(all)) {
    for (const row of batch) {
      if (row.n !== expected) {
        gapless = false;
        reportGap(run, expected, row.n - 1n);
      }
      expected = row.n + 1n;
      rowsBeforeLogs += addUp(run, row) ? 0 : 1;
    }
    rows += batch.length;
    await foldRows(work.aggregates, batch);
    await checkLogsOf(run, batch);
  }
  await reportUnnumbered(run);
  return { rows, gapless, rowsBeforeLogs };
}

/** @returns whether the logs hold its time. */
function addUp({ sums, logsSince }: AuditRun, { org, cost, credit, at }: LedgerRow): boolean {
  const sum = sums.of(org);
  sum.ledger += cost;
  sum.credits += credit?.amount ?? 0n;
  const isLogged = at >= logsSince;
  if (isLogged) sum.ledgerLogged += cost;
  return isLogged;
}

function reportGap({ findings }: AuditRun, first: bigint, last: bigint): void {
  const subject = first === last ? `${first}` : `${first} to ${last}`;
  findings.add({ kind: 'gap', org: null, subject, detail: `${last - first + 1n} rows are missing there` });
}

/** Rows that no reader in order of the numbers would meet. */
async function reportUnnumbered({ store, findings }: AuditRun): Promise<void> {
  const outside = store.ledger.find({ $nor: [{ p: PARTITION, n: { $gte: 1n } }] });
  for await (const batch of inBatches(outside))
    for (const { _id, org, p, n } of batch)
      findings.add({ kind: 'row_unnumbered', org, subject: _id, detail: `partition ${p}, number ${n}` });
}
