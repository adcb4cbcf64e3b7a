// File ids begin with their creation time: sorted keys are files in order of creation, so listing a page reads only the
// records of that page.
import { randomBytes } from 'node:crypto';
import { ID_PREFIXES } from '@switchyard/contracts';

/** Digits of milliseconds since the epoch in base 36; enough until the year 5188. */
const TIME_DIGITS = 9;

export function newFileId(now: number): string {
  const time = now.toString(36).padStart(TIME_DIGITS, '0');
  return ID_PREFIXES.file + time + randomBytes(15).toString('base64url');
}
