// Ids of files begin with their time, so that keys sorted are files in their order, and a page of a list needs no more
// than its own records.
import { randomBytes } from 'node:crypto';
import { ID_PREFIXES } from '@switchyard/contracts';

/** Digits of milliseconds since the epoch in base 36: enough until the year 5188. */
const TIME_DIGITS = 9;

export function newFileId(now: number): string {
  const time = now.toString(36).padStart(TIME_DIGITS, '0');
  return ID_PREFIXES.file + time + randomBytes(15).toString('base64url');
}
