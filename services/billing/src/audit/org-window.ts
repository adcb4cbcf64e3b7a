// The books of one org over the last day from three sources: the ledger, the logs, and the aggregates of every
// grouping. Statements are compared with usage over all time, because a row may be in a later month's statement. All
// reads happen between two batches, so that they include the same rows.
import { sumsOfLines } from '../statements/read-statement.ts';
import { answered } from '../store/answered.ts';
import { HOUR_MS } from '../store/buckets.ts';
import { FAMILIES, QUARTERS } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import { DOCUMENTS_PER_BATCH } from './batches.ts';

const WINDOW_HOURS = 24;
/** Maximum number of ledger rows counted between two batches; beyond it only the current hour is checked. */
const WINDOW_ROWS_MAX = 20_000;

export interface OrgWindow {
  /** Start of the window, at a full hour; it ends with the last booked row. */
  readonly from: Date;
  /** Nano-dollars. */
  readonly ledger: bigint;
  readonly logs: bigint;
  /** The grouping that differs most from the ledger. */
  readonly usage: bigint;
  /** The sum of all its statement lines minus its usage of all days. */
  readonly statementsAhead: bigint;
}

/**
 * Sums up one org. The caller ensures that nothing is booked meanwhile.
 * @param logsFrom time from which the logs are complete; null: always
 * @returns null when even the current hour has too many rows
 */
export async function orgWindow(
  store: Store,
  org: string,
  now: number,
  logsFrom: Date | null,
): Promise<OrgWindow | null> {
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  const logsHour = Math.ceil((logsFrom?.getTime() ?? 0) / HOUR_MS) * HOUR_MS;
  for (const start of [hour - (WINDOW_HOURS - 1) * HOUR_MS, hour]) {
    const from = new Date(Math.max(start, logsHour));
    const ledger = await answered(sumOfLedger(store, org, from));
    if (ledger !== null) return answered(sumUp(store, org, from, ledger));
  }
  return null;
}

/**
 * Null when there are too many rows. Reads the rows without counting first: the stand-in counts by reading everything.
 */
async function sumOfLedger({ ledger }: Store, org: string, from: Date): Promise<bigint | null> {
  const found = ledger.find({ org, at: { $gte: from } }, { projection: { cost: 1 } });
  let [sum, count] = [0n, 0];
  for await (const { cost } of found.limit(WINDOW_ROWS_MAX + 1).batchSize(DOCUMENTS_PER_BATCH)) {
    count += 1;
    sum += cost;
  }
  return count > WINDOW_ROWS_MAX ? null : sum;
}

async function sumUp(store: Store, org: string, from: Date, ledger: bigint): Promise<OrgWindow> {
  // Without refused calls, which may be many more. The server reads `org_cost_at` or `org_at`, the one with fewer rows.
  const charged = { org, cost: { $ne: 0n }, at: { $gte: from } };
  let logs = 0n;
  const lines = store.logs.find(charged, { projection: { _id: 0, cost: 1 } });
  for await (const { cost } of lines.batchSize(DOCUMENTS_PER_BATCH)) logs += cost;
  const byFamily = new Map<string, bigint>(FAMILIES.map((family) => [family, 0n]));
  const hours = store.aggregates.hours.find({ org, start: { $gte: from } });
  for await (const { family, quarters } of hours.batchSize(DOCUMENTS_PER_BATCH))
    for (const quarter of QUARTERS)
      byFamily.set(family, (byFamily.get(family) ?? 0n) + (quarters[quarter]?.cost ?? 0n));
  const statementsAhead = await statementsLessUsage(store, org);
  return { from, ledger, logs, usage: furthestFrom(ledger, [...byFamily.values()]), statementsAhead };
}

/** Reads a document per day of the org. */
async function statementsLessUsage(store: Store, org: string): Promise<bigint> {
  const days = store.aggregates.days.find({ org, family: 'total' }, { projection: { cost: 1 } });
  let ahead = 0n;
  for (const sum of await sumsOfLines(store, org)) ahead += sum.cost;
  for await (const day of days.batchSize(DOCUMENTS_PER_BATCH)) ahead -= day.cost;
  return ahead;
}

function furthestFrom(from: bigint, amounts: readonly bigint[]): bigint {
  let furthest = from;
  for (const amount of amounts) if (distance(amount, from) > distance(furthest, from)) furthest = amount;
  return furthest;
}

/** The largest difference between any two sources, in nano-dollars. */
export function driftOf({ ledger, logs, usage, statementsAhead }: OrgWindow): bigint {
  const drifts = [distance(furthestFrom(ledger, [logs, usage]), ledger), distance(statementsAhead, 0n)];
  return furthestFrom(0n, drifts);
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}
