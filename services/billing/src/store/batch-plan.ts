// What a batch of entries writes, decided against what the ledger already holds. Pure: it is where "exactly once" and
// "a void nets its charge in either order" are decided, entry by entry, as if each came alone.
import type { LogRow, UnnumberedRow } from './documents.ts';
import type { Entry, Granted, Occurrence, Refund, Void } from './entries.ts';
import { negateQuantities } from './quantities.ts';
import { leftOf, refundLog, refundRow, takenBackBy } from './refund-rows.ts';

export interface BatchPlan {
  /** Log rows to insert where they are not there yet. */
  readonly logs: LogRow[];
  /** Calls whose log row must end up as voided, at no cost, whoever has written it. */
  readonly voidedLogs: VoidedLog[];
  /** Refunds that are rejected: a batch that was cut short may have logged them. */
  readonly unlogged: string[];
  /** Ledger rows to append in this order. */
  readonly rows: UnnumberedRow[];
  /** Entries that contradict the ledger: for an alarm, and for the rejected. */
  readonly conflicts: Conflict[];
}

export interface VoidedLog {
  readonly id: string;
  /** Nano-dollars that the call does not cost after all. */
  readonly cost: bigint;
  /** Nano-dollars of it that refunds have given back before: they stay in the log, against the refunds' own rows. */
  readonly refunded: bigint;
}

export interface Conflict {
  readonly entry: Entry;
  readonly reason: string;
}

const VOID_SUFFIX = ':void';

/** Ids of ledger rows on which the plan for these entries depends. */
export function idsToLookUp(entries: readonly Entry[]): string[] {
  const ids = new Set<string>();
  for (const entry of entries) {
    if (entry.what === 'void')
      for (const id of [entry.requestId, ...takenBackBy(entry.requestId)]) ids.add(id);
    else if (entry.what === 'refund')
      for (const id of [entry.row._id, entry.charge, ...takenBackBy(entry.charge)]) ids.add(id);
    else if (entry.what === 'credit') ids.add(entry.row._id);
    else if (entry.charge) {
      ids.add(entry.charge._id);
      if (entry.charge.kind === 'call') ids.add(entry.charge._id + VOID_SUFFIX);
      const { refunds } = entry.charge;
      if (refunds !== undefined) for (const id of [refunds, ...takenBackBy(refunds)]) ids.add(id);
    }
  }
  return [...ids];
}

/**
 * @param entries in the order of the stream, repeats included
 * @param known the ledger's rows among `idsToLookUp(entries)`
 */
export function planBatch(entries: readonly Entry[], known: readonly UnnumberedRow[]): BatchPlan {
  const booked = new Map(known.map((row) => [row._id, row]));
  const plan: BatchPlan = { logs: [], voidedLogs: [], unlogged: [], rows: [], conflicts: [] };
  for (const entry of entries) {
    if (entry.what === 'void') planVoid(entry, booked, plan);
    else if (entry.what === 'credit') planCredit(entry, booked, plan);
    else if (entry.what === 'refund') planRefund(entry, booked, plan);
    else planOccurrence(entry, booked, plan);
  }
  const voided = new Map(plan.voidedLogs.map((log) => [log.id, log]));
  const logs = uniqueById(plan.logs).map((log) => asVoided(log, voided.get(log._id)));
  const logged = new Set(logs.map(({ _id }) => _id));
  return { ...plan, logs, unlogged: plan.unlogged.filter((id) => !logged.has(id)) };
}

function planOccurrence(entry: Occurrence, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  const { log, charge } = entry;
  if (!charge) {
    plan.logs.push(log);
    return;
  }
  const before = booked.get(charge._id);
  if (before) {
    // Its log row is there: log rows are written before ledger rows.
    const cost = before.asked_cost ?? before.voided_cost ?? before.cost;
    if (cost !== charge.cost)
      plan.conflicts.push({ entry, reason: `it was booked at ${cost} nano-dollars, not ${charge.cost}` });
    return;
  }
  const given = atMostLeft(charge, booked);
  plan.logs.push(given === charge ? log : { ...log, cost: given.cost });
  const void_ = booked.get(charge._id + VOID_SUFFIX);
  const row = void_?.org === charge.org ? netted(charge) : given;
  if (row.voided_cost !== undefined)
    plan.voidedLogs.push({ id: charge._id, cost: charge.cost, refunded: 0n });
  append(row, booked, plan);
}

/** A video's refund gives back what is left, where part of the charge was given back by hand before. */
function atMostLeft(row: UnnumberedRow, booked: ReadonlyMap<string, UnnumberedRow>): UnnumberedRow {
  const charge = row.refunds === undefined ? undefined : booked.get(row.refunds);
  const left = charge ? leftOf(charge, booked) : -row.cost;
  return -row.cost <= left ? row : { ...row, cost: -left, asked_cost: row.cost };
}

/** Only what is left of the charge, and only in its turn; else it changes nothing. */
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

function planCredit(entry: Granted, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  const before = booked.get(entry.row._id);
  if (!before) return append(entry.row, booked, plan);
  const [amount, again] = [before.credit?.amount, entry.row.credit?.amount];
  if (amount !== again)
    plan.conflicts.push({ entry, reason: `it was booked as ${amount} nano-dollars, not ${again}` });
}

/** The charge whose void came first: it is in the ledger as a fact, and counts for nothing. */
function netted(charge: UnnumberedRow): UnnumberedRow {
  return { ...charge, calls: 0n, cost: 0n, quantities: {}, voided_cost: charge.cost };
}

function planVoid(entry: Void, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  if (booked.has(entry.id)) return;
  const charge = booked.get(entry.requestId);
  if (charge && (charge.org !== entry.org || charge.kind !== 'call')) {
    plan.conflicts.push({ entry, reason: `what it voids is no call of ${entry.org}` });
    return;
  }
  const left = charge ? leftOf(charge, booked) : 0n;
  if (charge) plan.voidedLogs.push({ id: charge._id, cost: charge.cost, refunded: charge.cost - left });
  append(charge ? reversal(entry, charge, left) : remembered(entry), booked, plan);
}

/** @param left nano-dollars of the charge that no refund has given back */
function reversal(entry: Void, charge: UnnumberedRow, left: bigint): UnnumberedRow {
  const { org, key, type, model, maker, computer, status } = charge;
  return {
    _id: entry.id,
    kind: 'void',
    voids: charge._id,
    at: charge.at,
    ...{ org, key, type, model, maker, computer, ...(status ? { status } : {}) },
    calls: -charge.calls,
    cost: -left,
    quantities: negateQuantities(charge.quantities),
  };
}

/** A void that came before its charge, or whose charge never comes: it costs nothing and waits. */
function remembered({ id, org, requestId, at }: Void): UnnumberedRow {
  const nothing = { key: null, type: null, model: null, maker: null, computer: null };
  return {
    _id: id,
    kind: 'void',
    voids: requestId,
    at,
    org,
    ...nothing,
    calls: 0n,
    cost: 0n,
    quantities: {},
  };
}

function append(row: UnnumberedRow, booked: Map<string, UnnumberedRow>, plan: BatchPlan): void {
  booked.set(row._id, row);
  plan.rows.push(row);
}

function asVoided(log: LogRow, voided: VoidedLog | undefined): LogRow {
  if (!voided) return log;
  return { ...log, status: 'voided', cost: voided.refunded, voided_cost: voided.cost };
}

/** The first of each id, but a completed call before a refused one: only that one may carry a charge. */
function uniqueById(logs: readonly LogRow[]): LogRow[] {
  const unique = new Map<string, LogRow>();
  for (const log of logs) {
    const before = unique.get(log._id);
    if (!before || (before.source === 'call.refused' && log.source !== 'call.refused'))
      unique.set(log._id, log);
  }
  return [...unique.values()];
}
