// Decides what a batch of entries writes, given the rows in the ledger. Pure. "Exactly once" and "a void nets its
// charge in either order" are decided here, entry by entry, as if each arrived alone.
import { eventIds } from '@switchyard/contracts';
import type { LogRow, UnnumberedRow } from './documents.ts';
import type { Entry, Occurrence, Refund, Void } from './entries.ts';
import { dimensionsOf, newLedgerRow } from './new-rows.ts';
import { negateQuantities } from './quantities.ts';
import { leftOf, refundLog, refundRow, takenBackBy } from './refund-rows.ts';

export interface BatchPlan {
  /** Log rows to insert where they are missing. */
  readonly logs: LogRow[];
  /** Calls whose log row must end as voided at no cost, no matter which writer inserts it. */
  readonly voidedLogs: VoidedLog[];
  /** Rejected refunds, whose log rows an interrupted batch may have written. */
  readonly unlogged: string[];
  /** Ledger rows to append, in this order. */
  readonly rows: UnnumberedRow[];
  /** Entries that contradict the ledger: they raise an alarm and are stored as rejected. */
  readonly conflicts: Conflict[];
}

interface VoidedLog {
  readonly id: string;
  /** The voided cost of the call, in nano-dollars. */
  readonly cost: bigint;
  /**
   * The part that refunds returned before the void, in nano-dollars. It stays in the log, where the refunds' rows
   * balance it.
   */
  readonly refunded: bigint;
}

export interface Conflict {
  readonly entry: Entry;
  readonly reason: string;
}

/** Ids of the ledger rows on which the plan for these entries depends. */
export function idsToLookUp(entries: readonly Entry[]): string[] {
  const ids = new Set<string>();
  for (const entry of entries) {
    if (entry.what === 'void')
      for (const id of [entry.requestId, ...takenBackBy(entry.requestId)]) ids.add(id);
    else if (entry.what === 'refund')
      for (const id of [entry.row._id, entry.charge, ...takenBackBy(entry.charge)]) ids.add(id);
    else if (entry.row) {
      const { _id, kind, refunds } = entry.row;
      ids.add(_id);
      if (kind === 'call') ids.add(eventIds.voided(_id));
      if (refunds !== undefined) for (const id of [refunds, ...takenBackBy(refunds)]) ids.add(id);
    }
  }
  return [...ids];
}

/**
 * @param entries in the order of the stream, duplicates included
 * @param known the ledger's rows among `idsToLookUp(entries)`
 */
export function planBatch(entries: readonly Entry[], known: readonly UnnumberedRow[]): BatchPlan {
  const booked = new Map(known.map((row) => [row._id, row]));
  const plan: BatchPlan = { logs: [], voidedLogs: [], unlogged: [], rows: [], conflicts: [] };
  for (const entry of entries) {
    if (entry.what === 'void') planVoid(entry, booked, plan);
    else if (entry.what === 'refund') planRefund(entry, booked, plan);
    else planOccurrence(entry, booked, plan);
  }
  const voided = new Map(plan.voidedLogs.map((log) => [log.id, log]));
  const logs = uniqueById(plan.logs).map((log) => asVoided(log, voided.get(log._id)));
  const logged = new Set(logs.map(({ _id }) => _id));
  return { ...plan, logs, unlogged: plan.unlogged.filter((id) => !logged.has(id)) };
}

function planOccurrence(entry: Occurrence, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  const { log, row } = entry;
  const before = row && booked.get(row._id);
  if (before) {
    // The log row exists: log rows are written before ledger rows.
    const [amount, again] = [statedAmount(before), statedAmount(row)];
    if (amount !== again)
      plan.conflicts.push({ entry, reason: `it was booked at ${amount} nano-dollars, not ${again}` });
    return;
  }
  const given = row && atMostLeft(row, booked);
  if (log) plan.logs.push(given === row ? log : { ...log, cost: given?.cost ?? 0n });
  if (!row || !given) return;
  if (booked.get(eventIds.voided(row._id))?.org !== row.org) return append(given, booked, plan);
  plan.voidedLogs.push({ id: row._id, cost: row.cost, refunded: 0n });
  append(netted(row), booked, plan);
}

/** The amount that the event of a row states, in nano-dollars, whatever was booked of it. */
export function statedAmount({ credit, asked_cost, voided_cost, cost }: UnnumberedRow): bigint {
  return credit?.amount ?? asked_cost ?? voided_cost ?? cost;
}

/** Limits a video's refund to what manual refunds have left of the charge. */
function atMostLeft(row: UnnumberedRow, booked: ReadonlyMap<string, UnnumberedRow>): UnnumberedRow {
  const charge = row.refunds === undefined ? undefined : booked.get(row.refunds);
  if (!charge) return row;
  const left = leftOf(charge, booked);
  const refund = { ...row, charged_at: charge.at };
  return -row.cost <= left ? refund : { ...refund, cost: -left, asked_cost: row.cost };
}

/** Plans a refund of at most the remaining charge, at the next free place; any other refund changes nothing. */
function planRefund(entry: Refund, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  const before = booked.get(entry.row._id);
  if (before) {
    if (before.refund?.id !== entry.row.refund?.id || before.cost !== entry.row.cost)
      plan.conflicts.push({ entry, reason: 'another refund has its place' });
    return;
  }
  const charge = booked.get(entry.charge);
  const row = refundRow(entry, charge, booked);
  if (typeof row === 'string') {
    plan.unlogged.push(entry.row._id);
    plan.conflicts.push({ entry, reason: row });
    return;
  }
  plan.logs.push(refundLog(entry, row));
  append(row, booked, plan);
}

/** A charge whose void came first: it is recorded in the ledger at no cost. */
function netted(charge: UnnumberedRow): UnnumberedRow {
  return { ...charge, calls: 0n, cost: 0n, quantities: {}, voided_cost: charge.cost };
}

function planVoid(entry: Void, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  if (booked.has(entry.id)) return;
  const charge = booked.get(entry.requestId);
  if (charge && (charge.org !== entry.org || charge.kind !== 'call')) {
    plan.conflicts.push({ entry, reason: `it voids no call of ${entry.org}` });
    return;
  }
  const left = charge ? leftOf(charge, booked) : 0n;
  if (charge) plan.voidedLogs.push({ id: charge._id, cost: charge.cost, refunded: charge.cost - left });
  append(charge ? reversal(entry, charge, left) : remembered(entry), booked, plan);
}

/** @param left nano-dollars of the charge that no refund has returned */
function reversal(entry: Void, charge: UnnumberedRow, left: bigint): UnnumberedRow {
  return {
    _id: entry.id,
    kind: 'void',
    voids: charge._id,
    at: charge.at,
    ...dimensionsOf(charge),
    calls: -charge.calls,
    cost: -left,
    quantities: negateQuantities(charge.quantities),
  };
}

/** A void without a charge so far: a row without cost that waits for the charge. */
function remembered({ id, org, requestId, at }: Void): UnnumberedRow {
  return newLedgerRow({ _id: id, kind: 'void', voids: requestId, at, org });
}

function append(row: UnnumberedRow, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  booked.set(row._id, row);
  plan.rows.push(row);
}

function asVoided(log: LogRow, voided: VoidedLog | undefined): LogRow {
  if (!voided) return log;
  return { ...log, status: 'voided', cost: voided.refunded, voided_cost: voided.cost };
}

/**
 * Keeps the first row of each id, but prefers a completed call to a refused one: only the former may carry a charge.
 */
function uniqueById(logs: readonly LogRow[]): LogRow[] {
  const unique = new Map<string, LogRow>();
  for (const log of logs) {
    const before = unique.get(log._id);
    if (!before || (before.source === 'call.refused' && log.source !== 'call.refused'))
      unique.set(log._id, log);
  }
  return [...unique.values()];
}
