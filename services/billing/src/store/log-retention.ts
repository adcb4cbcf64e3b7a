// Removes logs past retention; the ledger is kept for ever. The time from which the logs are complete is stored before
// the first row is removed, so that comparisons with the ledger stay correct after an interrupted removal.
import { answered } from './answered.ts';
import { HOUR_MS } from './buckets.ts';
import type { Store } from './store.ts';

/** One document for all partitions. It keeps the name of the first partition. */
const RETENTION = 'p0';

const DAY_HOURS = 24;
/** Maximum number of rows per removal. */
const ROWS_AT_ONCE_MAX = 2_000;

/** Time from which the logs are complete; null: no row was ever removed. */
export async function logsCompleteFrom({ retention }: Store): Promise<Date | null> {
  const kept = await answered(retention.findOne({ _id: RETENTION }));
  return kept?.logs_from ?? null;
}

/** Time before which rows are too old, in whole hours, so that it changes rarely. */
export function logsEndBefore(now: number, days: number): Date {
  return new Date(Math.floor(now / HOUR_MS - days * DAY_HOURS) * HOUR_MS);
}

/**
 * Removes the rows before a time, the oldest first. Idempotent, also after an interruption.
 * @returns the number of removed rows
 * @throws DatabaseSilent, and the driver's errors
 */
export async function removeLogsBefore(
  { logs, retention }: Store,
  before: Date,
  signal: AbortSignal,
): Promise<number> {
  const old = { at: { $lt: before } };
  const next = () =>
    answered(
      logs
        .find(old, { projection: { _id: 1 } })
        .sort({ at: 1 })
        .limit(ROWS_AT_ONCE_MAX)
        .toArray(),
    );
  let removed = 0;
  for (let rows = await next(); rows.length > 0 && !signal.aborted; rows = await next()) {
    if (removed === 0)
      await answered(
        retention.updateOne({ _id: RETENTION }, { $max: { logs_from: before } }, { upsert: true }),
      );
    await answered(logs.deleteMany({ _id: { $in: rows.map(({ _id }) => _id) } }));
    removed += rows.length;
  }
  return removed;
}
