// Bounds the time of a database operation. The driver's `socketTimeoutMS` misses an operation that was written to a
// closing socket: that operation never ends (driver 7.8; seen when the server was killed at that moment). An abandoned
// operation is harmless: if it still runs, it counts as another writer's.
import { withTimeout } from '@switchyard/service';

/** Longer than the driver's own limits, because their errors are more specific. */
export const ANSWER_MS_MAX = 8_000;

/** The database did not answer in time. The operation may or may not have run. */
export class DatabaseSilent extends Error {
  constructor(ms: number) {
    super(`the database has not answered for ${ms} ms`);
    this.name = 'DatabaseSilent';
  }
}

/** @throws DatabaseSilent after `ms` milliseconds; the errors of the operation */
export function answered<T>(operation: Promise<T>, ms = ANSWER_MS_MAX): Promise<T> {
  return withTimeout(operation, ms, () => new DatabaseSilent(ms));
}
