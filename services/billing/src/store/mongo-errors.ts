// What the driver's errors mean to billing.
import { MongoBulkWriteError, MongoServerError } from 'mongodb';

const DUPLICATE_KEY = 11_000;

export function isDuplicateKey(error: { code?: number | string | undefined }): boolean {
  return error.code === DUPLICATE_KEY;
}

/** Whether a write, single or bulk, met a key that is there already. */
export function metDuplicateKey(error: unknown): boolean {
  if (error instanceof MongoBulkWriteError) return [error.writeErrors].flat().some(isDuplicateKey);
  return error instanceof MongoServerError && isDuplicateKey(error);
}

/**
 * The ledger was written by someone else at the same time. Nothing is lost by it: whoever gets this reads the ledger
 * anew and goes on from there.
 */
export class AnotherWriter extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'AnotherWriter';
  }
}
