// The driver's errors as billing uses them.
import { MongoBulkWriteError, MongoServerError } from 'mongodb';

const DUPLICATE_KEY = 11_000;

export function hasDuplicateKeyCode(error: { code?: number | string | undefined }): boolean {
  return error.code === DUPLICATE_KEY;
}

/** Whether a single or bulk write failed on an existing key. */
export function isDuplicateKeyError(error: unknown): boolean {
  if (error instanceof MongoBulkWriteError) return [error.writeErrors].flat().some(hasDuplicateKeyCode);
  return error instanceof MongoServerError && hasDuplicateKeyCode(error);
}

/** Another process wrote to the ledger at the same time. Nothing is lost: read the ledger again and continue. */
export class AnotherWriter extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'AnotherWriter';
  }
}
