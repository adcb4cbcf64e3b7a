// A bound on waiting for the database. The driver's own (`socketTimeoutMS`) does not end an operation whose write met a
// socket that was just being closed: that one waits for ever (driver 7.8; seen when the server was killed in that
// moment). Giving up on an operation is harmless: if it happens after all, it is as another writer's.
import { inTime } from '@switchyard/service';

/** Longer than the driver's own bounds, whose errors say more. */
export const ANSWER_MS_MAX = 8_000;

/** The database has not answered in time; whether it did as it was told is not known. */
export class DatabaseSilent extends Error {
  constructor(ms: number) {
    super(`the database has not answered for ${ms} ms`);
    this.name = 'DatabaseSilent';
  }
}

/** @throws DatabaseSilent after `ms` milliseconds; what the operation throws. */
export function answered<T>(operation: Promise<T>, ms = ANSWER_MS_MAX): Promise<T> {
  return inTime(operation, ms, () => new DatabaseSilent(ms));
}
