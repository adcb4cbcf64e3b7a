// Reads the ledger from first row to last: checks for gaps, adds up each org, checks each row's log row, and rebuilds
// the aggregates and lines of statements with the code of billing.

import { lineIdOf, lineKeyOf, monthOf } from '../statements/months.ts';
import type { LedgerRow } from '../store/documents.ts';
import { foldRows } from '../store/fold.ts';
import type { AuditRun } from './audit-run.ts';
import { inBatches } from './batches.ts';
import { checkLogsOf } from './log-rows.ts';

export interface LedgerFacts {
  readonly rows: number;
  readonly gapless: boolean;
  /** Rows older than the retained logs. */
  readonly rowsBeforeLogs: number;
}

export async function passLedger(run: AuditRun): Promise<LedgerFacts> {
  const facts = { rows: 0, gapless: true, rowsBeforeLogs: 0 };
  for (const [partition, upTo] of run.upTo) {
    const { rows, gapless, rowsBeforeLogs } = await passPartition(run, partition, upTo);
    facts.rows += rows;
    facts.gapless &&= gapless;
    facts.rowsBeforeLogs += rowsBeforeLogs;
  }
  await reportUnnumbered(run);
  return facts;
}

async function passPartition(run: AuditRun, partition: string, upTo: bigint): Promise<LedgerFacts> {
  const { store, work } = run;
  let rows = 0;
  let rowsBeforeLogs = 0;
  let expected = 1n;
  let gapless = true;
  const all = store.ledger.find({ p: partition, n: { $gte: 1n, $lte: upTo } }).sort({ n: 1 });
  for await (const batch of inBatches(all)) {
    for (const row of batch) {
      if (row.n !== expected) {
        gapless = false;
        reportGap(run, partition, expected, row.n - 1n);
      }
      expected = row.n + 1n;
      if (row.kind === 'fence') continue; // belongs to no org and costs nothing
      rowsBeforeLogs += addUp(run, row) ? 0 : 1;
      checkPlace(run, row);
    }
    rows += batch.length;
    await Promise.all([foldRows(work.aggregates, batch), checkLogsOf(run, batch)]);
  }
  return { rows, gapless, rowsBeforeLogs };
}

/** Adds a row to the sums of its org. @returns whether the logs cover its time */
function addUp({ sums, logsSince }: AuditRun, { org, cost, credit, at }: LedgerRow): boolean {
  const sum = sums.of(org);
  sum.ledger += cost;
  sum.credits += credit?.amount ?? 0n;
  const isLogged = at >= logsSince;
  if (isLogged) sum.ledgerLogged += cost;
  return isLogged;
}

/** Statements look up events by the line that a row names, but sum rows by their contents. Both must agree. */
function checkPlace({ findings }: AuditRun, row: LedgerRow): void {
  const { _id: subject, org, month, line, at } = row;
  const key = lineKeyOf(row);
  if (line !== lineIdOf(key))
    findings.add({
      kind: 'row_misplaced',
      org,
      subject,
      detail: `it names ${line}; it is in ${lineIdOf(key)}`,
    });
  if (month < monthOf(at.getTime()))
    findings.add({ kind: 'row_misplaced', org, subject, detail: `${at.toISOString()} in ${month}` });
}

function reportGap({ findings }: AuditRun, partition: string, first: bigint, last: bigint): void {
  const subject = first === last ? `${first}` : `${first} to ${last}`;
  const detail = `${last - first + 1n} rows are missing there, in ${partition}`;
  findings.add({ kind: 'gap', org: null, subject, detail });
}

/** Reports rows that a reader in the order of the numbers never sees. */
async function reportUnnumbered({ store, findings, upTo }: AuditRun): Promise<void> {
  const outside = store.ledger.find({ $nor: [{ p: { $in: [...upTo.keys()] }, n: { $gte: 1n } }] });
  for await (const batch of inBatches(outside))
    for (const { _id, org, p, n } of batch)
      findings.add({ kind: 'row_unnumbered', org, subject: _id, detail: `partition ${p}, number ${n}` });
}
