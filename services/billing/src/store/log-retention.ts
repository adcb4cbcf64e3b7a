// Logs are kept for so many days; the ledger is kept for ever. From when on the logs are whole is written down before the
// first row goes, so that whoever compares them with the ledger knows, also when the removal was cut short.
import { answered } from './answered.ts';
import { HOUR_MS } from './buckets.ts';
import type { Store } from './store.ts';

/** Logs are not kept by partition: there is one document, of the name that it always had. */
const RETENTION = 'p0';

const DAY_HOURS = 24;
/** Rows removed in one go. */
const ROWS_AT_ONCE_MAX = 2_000;

/** The moment from which on every log row is there; null: nothing was ever removed. */
export async function logsCompleteFrom({ retention }: Store): Promise<Date | null> {
  const kept = await answered(retention.findOne({ _id: RETENTION }));
  return kept?.logs_from ?? null;
}

/** Up to when rows are too old, in whole hours: the moment moves seldom. */
export function logsEndBefore(now: number, days: number): Date {
  return new Date(Math.floor(now / HOUR_MS - days * DAY_HOURS) * HOUR_MS);
}

/**
 * Removes the rows of before that moment, the oldest first. May be cut anywhere, and repeated.
 * @returns how many it has removed.
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
