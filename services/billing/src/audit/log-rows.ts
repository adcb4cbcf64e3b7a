// Ledger rows against their log rows. A log row is written before its ledger row, and a voided call's log row says so
// before the void is in the ledger; so what is compared is read in that order, and again where it differs.
import type { LedgerRow, LogRow } from '../store/documents.ts';
import { type AuditRun, isWithin } from './audit-run.ts';
import { byId, inBatches } from './batches.ts';

/** Ledger rows whose log row has the same id. A video's log row has that of its request: see `checkLogs`. */
const LOGGED_UNDER_OWN_ID: readonly LedgerRow['kind'][] = ['call', 'computer_minute', 'refund'];

type Charge = Pick<LedgerRow, '_id' | 'org' | 'key' | 'at' | 'cost' | 'voided_cost' | 'p' | 'n'>;
type Line = Pick<LogRow, '_id' | 'org' | 'key' | 'at' | 'cost' | 'voided_cost' | 'source' | 'model'>;
const LINE = { org: 1, key: 1, at: 1, cost: 1, voided_cost: 1, source: 1, model: 1 } as const;

/** Each of these ledger rows must have its log row, at the same cost. */
export async function checkLogsOf(run: AuditRun, rows: readonly LedgerRow[]): Promise<void> {
  const { logsSince } = run;
  const charges = rows.filter(({ kind, at }) => LOGGED_UNDER_OWN_ID.includes(kind) && at >= logsSince);
  await run.patience.lookAgain(charges, (open, isLast) => compareCharges(run, open, isLast));
}

async function compareCharges(
  { store, findings }: AuditRun,
  charges: readonly LedgerRow[],
  isLast: boolean,
): Promise<LedgerRow[]> {
  const ids = charges.map(({ _id }) => _id);
  const lines = await byId(store.logs.find<Line>({ _id: { $in: ids } }, { projection: LINE }));
  const voids = await voidsOf(store.ledger, ids);
  return charges.filter((charge) => {
    const line = lines.get(charge._id);
    if (line && agrees(charge, line, voids.get(charge._id))) return false;
    if (!isLast) return true;
    const { _id: subject, org } = charge;
    if (!line) findings.add({ kind: 'log_missing', org, subject, detail: `its cost is ${charge.cost}` });
    else findings.add({ kind: 'log_differs', org, subject, detail: difference(charge, line, voids) });
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

/** Nano-dollars that the call comes to with its void. */
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
  /** Nano-dollars: what is taken back is below zero. A refund by hand may have given back the rest. */
  readonly cost: bigint;
}

/** Which of these charges have been voided, by the id of the charge. */
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

/** Every log row with a cost must have its ledger row; adds up the logs as they were at the common number. */
export async function checkLogs(run: AuditRun): Promise<number> {
  const { store } = run;
  const costly = store.logs.find<Line>(
    { $or: [{ cost: { $ne: 0n } }, { voided_cost: { $exists: true } }] },
    { projection: LINE },
  );
  let count = 0;
  for await (const batch of inBatches(costly)) {
    count += batch.length;
    const videos = batch.filter(({ source }) => source === 'video.charged');
    const others = batch.filter(({ source }) => source !== 'video.charged');
    await run.patience.lookAgain(others, (open, isLast) => compareLines(run, open, isLast));
    await run.patience.lookAgain(videos, (open, isLast) => compareVideos(run, open, isLast));
  }
  return count;
}

/** Adds those that have their row to the sums; what they cost is compared from the ledger's side. */
async function compareLines(run: AuditRun, lines: readonly Line[], isLast: boolean): Promise<Line[]> {
  const { store, sums } = run;
  const ids = lines.map(({ _id }) => _id);
  const projection = { cost: 1, p: 1, n: 1 } as const;
  const rows = await byId(store.ledger.find<Charge>({ _id: { $in: ids } }, { projection }));
  const voids = await voidsOf(store.ledger, ids);
  return lines.filter((line) => {
    const row = rows.get(line._id);
    if (!row) {
      if (isLast) reportStray(run, line);
      return true;
    }
    if (!isWithin(run, row)) return false;
    const voidedAt = voids.get(line._id);
    const isVoidedLater = voidedAt !== undefined && !isWithin(run, voidedAt);
    sums.of(line.org).logs += isVoidedLater ? (line.voided_cost ?? line.cost) : line.cost;
    return false;
  });
}

/** The ledger row of a video has the id of the video; it is found by what both say. */
async function compareVideos(run: AuditRun, lines: readonly Line[], isLast: boolean): Promise<Line[]> {
  const { store, sums } = run;
  const orgs = [...new Set(lines.map(({ org }) => org))];
  const found = store.ledger.find({
    org: { $in: orgs },
    at: { $in: lines.map(({ at }) => at) },
    kind: 'video',
  });
  const rows = new Map<string, LedgerRow[]>();
  for await (const row of found) rows.set(nameOf(row), [...(rows.get(nameOf(row)) ?? []), row]);
  return lines.filter((line) => {
    const candidates = rows.get(nameOf(line)) ?? [];
    const row = candidates.find(({ cost }) => cost === line.cost) ?? candidates[0];
    if (!row) {
      if (isLast) reportStray(run, line);
      return true;
    }
    candidates.splice(candidates.indexOf(row), 1);
    if (isWithin(run, row)) sums.of(line.org).logs += line.cost;
    if (row.cost !== line.cost)
      run.findings.add({
        ...{ kind: 'log_differs', org: line.org, subject: line._id },
        detail: `the log says ${line.cost} nano-dollars; the ledger row ${row._id} ${row.cost}`,
      });
    return false;
  });
}

function nameOf({ org, key, model, at }: Pick<LedgerRow, 'org' | 'key' | 'model' | 'at'>): string {
  return JSON.stringify([org, key, model, at.getTime()]);
}

function reportStray({ findings }: AuditRun, { _id, org, cost, source }: Line): void {
  const detail = `${source} at ${cost} nano-dollars`;
  findings.add({ kind: 'log_without_row', org, subject: _id, detail });
}
