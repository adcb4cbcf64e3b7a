// Compares ledger rows with their log rows. Billing writes a log row before its ledger row, and marks a call as voided
// before the void is in the ledger. The reads follow this order, and repeat where rows differ.
import { LEDGER_KINDS } from '@switchyard/contracts';
import type { LedgerRow, LogRow } from '../store/documents.ts';
import { type AuditRun, isWithin } from './audit-run.ts';
import { inBatches, readById } from './batches.ts';

type Charge = Pick<LedgerRow, '_id' | 'org' | 'key' | 'at' | 'cost' | 'voided_cost' | 'p' | 'n'>;
type Line = Pick<LogRow, '_id' | 'charge' | 'org' | 'key' | 'at' | 'cost' | 'voided_cost' | 'source'>;
const LINE = { charge: 1, org: 1, key: 1, at: 1, cost: 1, voided_cost: 1, source: 1 } as const;

/** Id of the ledger row of a log row: a video's log row has the id of its request, and names its charge. */
function rowIdOf({ _id, charge }: Line): string {
  return charge ?? _id;
}

/** Checks that each of these ledger rows has its log row, at the same cost. */
export async function checkLogsOf(run: AuditRun, rows: readonly LedgerRow[]): Promise<void> {
  const { logsSince } = run;
  const charges = rows.filter(({ kind, at }) => LEDGER_KINDS[kind].log !== null && at >= logsSince);
  await run.rechecks.recheck(charges, (open, isLast) => compareCharges(run, open, isLast));
}

async function compareCharges(
  { store, findings }: AuditRun,
  charges: readonly LedgerRow[],
  isLast: boolean,
): Promise<LedgerRow[]> {
  const ids = charges.map(({ _id }) => _id);
  const lines = await readById(store.logs.find<Line>({ _id: { $in: ids } }, { projection: LINE }));
  const others = ids.filter((id) => !lines.has(id));
  if (others.length > 0)
    for await (const line of store.logs.find<Line>({ charge: { $in: others } }, { projection: LINE }))
      lines.set(rowIdOf(line), line);
  const voids = await voidsOf(store.ledger, ids);
  return charges.filter((charge) => {
    const line = lines.get(charge._id);
    if (line && agrees(charge, line, voids.get(charge._id))) return false;
    if (!isLast) return true;
    const { _id, org } = charge;
    if (!line) findings.add({ kind: 'log_missing', org, subject: _id, detail: `its cost is ${charge.cost}` });
    else {
      const detail = difference(charge, line, voids);
      findings.add({ kind: 'log_differs', org, subject: line._id, detail });
    }
    return true;
  });
}

function agrees(charge: Charge, line: Line, taken: Taken | undefined): boolean {
  return (
    line.cost === netCost(charge, taken) &&
    line.org === charge.org &&
    line.key === charge.key &&
    line.at.getTime() === charge.at.getTime()
  );
}

/** Net cost of a call and its void, in nano-dollars. */
function netCost({ cost, voided_cost }: Charge, taken: Taken | undefined): bigint {
  return voided_cost !== undefined ? 0n : cost + (taken?.cost ?? 0n);
}

function difference(charge: Charge, line: Line, voids: ReadonlyMap<string, Taken>): string {
  const words = (of: { org: string; key: string | null; at: Date }) =>
    `${of.org}, ${of.key}, ${of.at.toISOString()}`;
  const net = netCost(charge, voids.get(charge._id));
  return `the log says ${line.cost} nano-dollars, ${words(line)}; the ledger ${net}, ${words(charge)}`;
}

/** The void of a charge. */
interface Taken {
  readonly p: string;
  readonly n: bigint;
  /** Negative nano-dollars. Smaller than the charge where a manual refund already returned a part. */
  readonly cost: bigint;
}

/** The voids of these charges, by the id of the charge. */
async function voidsOf(ledger: AuditRun['store']['ledger'], ids: readonly string[]) {
  const voids = new Map<string, Taken>();
  const found = ledger.find(
    { _id: { $in: ids.map((id) => `${id}:void`) } },
    { projection: { voids: 1, p: 1, n: 1, cost: 1 } },
  );
  for await (const { voids: charge, p, n, cost } of found)
    if (charge !== undefined) voids.set(charge, { p, n, cost });
  return voids;
}

/** Checks that each log row with a cost has its ledger row. Adds up the logs as of the common number. */
export async function checkLogs(run: AuditRun): Promise<number> {
  const { store } = run;
  const costly = store.logs.find<Line>(
    { $or: [{ cost: { $ne: 0n } }, { voided_cost: { $exists: true } }] },
    { projection: LINE },
  );
  let count = 0;
  for await (const batch of inBatches(costly)) {
    count += batch.length;
    await run.rechecks.recheck(batch, (open, isLast) => compareLines(run, open, isLast));
  }
  return count;
}

/**
 * Adds the log rows with a ledger row to the sums, from the time on that `ledgerLogged` covers. Their costs are compared
 * in `checkLogsOf`.
 */
async function compareLines(run: AuditRun, lines: readonly Line[], isLast: boolean): Promise<Line[]> {
  const { store, sums } = run;
  const ids = lines.map(rowIdOf);
  const projection = { cost: 1, p: 1, n: 1 } as const;
  const rows = await readById(store.ledger.find<Charge>({ _id: { $in: ids } }, { projection }));
  const voids = await voidsOf(store.ledger, ids);
  return lines.filter((line) => {
    const row = rows.get(rowIdOf(line));
    if (!row) {
      if (isLast) reportStray(run, line);
      return true;
    }
    if (!isWithin(run, row) || line.at < run.logsSince) return false;
    const voidedAt = voids.get(rowIdOf(line));
    const isVoidedLater = voidedAt !== undefined && !isWithin(run, voidedAt);
    sums.of(line.org).logs += isVoidedLater ? (line.voided_cost ?? line.cost) : line.cost;
    return false;
  });
}

function reportStray({ findings }: AuditRun, { _id, org, cost, source }: Line): void {
  const detail = `${source} at ${cost} nano-dollars`;
  findings.add({ kind: 'log_without_row', org, subject: _id, detail });
}
