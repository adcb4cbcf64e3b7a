// Writing log rows so that it may be repeated: what is there stays, a completed call takes the place of a refusal of
// the same id, a voided call ends up as voided whoever wrote its row, and when, and a refund that is rejected has none.
import { type AnyBulkWriteOperation, MongoBulkWriteError } from 'mongodb';
import type { BatchPlan } from './batch-plan.ts';
import type { LogRow } from './documents.ts';
import { isDuplicateKey } from './mongo-errors.ts';
import type { Store } from './store.ts';

export async function writeLogs(
  store: Store,
  { logs, voidedLogs, unlogged }: Pick<BatchPlan, 'logs' | 'voidedLogs' | 'unlogged'>,
): Promise<void> {
  const present = await insertMissing(store, logs);
  const corrections: AnyBulkWriteOperation<LogRow>[] = [];
  for (const { _id, ...row } of present)
    if (isRefund(row))
      // Whatever an attempt that was cut short has left: only the one that is written last gets into the ledger.
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
  // Ordered: a row that has just taken a refusal's place may have to be voided.
  if (corrections.length > 0) await store.logs.bulkWrite(corrections, { ordered: true });
}

function isRefund({ source }: Pick<LogRow, 'source'>): boolean {
  return source === 'charge.refunded' || source === 'video.refunded';
}

/** Inserts what is not there; returns what was. */
async function insertMissing({ logs: collection }: Store, logs: readonly LogRow[]): Promise<LogRow[]> {
  if (logs.length === 0) return [];
  try {
    await collection.insertMany([...logs], { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const failed = [error.writeErrors].flat();
    if (failed.length === 0 || !failed.every(isDuplicateKey)) throw error;
    return failed.flatMap(({ index }) => logs[index] ?? []);
  }
}
