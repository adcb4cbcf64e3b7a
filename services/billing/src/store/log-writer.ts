// Writes log rows idempotently: existing rows stay, a completed call replaces a refusal with the same id, a voided call
// ends as voided regardless of writer and order, and a rejected refund has no row.
import { type AnyBulkWriteOperation, MongoBulkWriteError } from 'mongodb';
import type { BatchPlan } from './batch-plan.ts';
import type { LogRow } from './documents.ts';
import { hasDuplicateKeyCode } from './mongo-errors.ts';
import type { Store } from './store.ts';

export async function writeLogs(
  store: Store,
  { logs, voidedLogs, unlogged }: Pick<BatchPlan, 'logs' | 'voidedLogs' | 'unlogged'>,
): Promise<void> {
  const present = await insertMissing(store, logs);
  const corrections: AnyBulkWriteOperation<LogRow>[] = [];
  for (const { _id, ...row } of present)
    if (row.kind === 'refund')
      // Replaces the row of an interrupted attempt: only the row written last gets into the ledger.
      corrections.push({ replaceOne: { filter: { _id, source: row.source }, replacement: row } });
    else if (row.source !== 'call.refused')
      corrections.push({ replaceOne: { filter: { _id, source: 'call.refused' }, replacement: row } });
  for (const { id, cost, refunded } of voidedLogs)
    corrections.push({
      updateOne: {
        filter: { _id: id, source: 'call.completed' },
        update: { $set: { status: 'voided', cost: refunded, voided_cost: cost } },
      },
    });
  for (const _id of unlogged) corrections.push({ deleteOne: { filter: { _id, source: 'charge.refunded' } } });
  // Ordered: a row that has just replaced a refusal may have to be voided.
  if (corrections.length > 0) await store.logs.bulkWrite(corrections, { ordered: true });
}

/** Inserts missing rows and returns the existing ones. */
async function insertMissing({ logs: collection }: Store, logs: readonly LogRow[]): Promise<LogRow[]> {
  if (logs.length === 0) return [];
  try {
    await collection.insertMany([...logs], { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const failed = [error.writeErrors].flat();
    if (failed.length === 0 || !failed.every(hasDuplicateKeyCode)) throw error;
    return failed.flatMap(({ index }) => logs[index] ?? []);
  }
}
