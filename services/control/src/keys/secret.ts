// The secret of a key: generated once, shown once, stored as SHA-256 only.
import { hash, randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;
const PREFIX_LENGTH = 8;

export function newSecret(): string {
  return `sy_${randomBytes(SECRET_BYTES).toString('base64url')}`;
}

export function hashKey(secret: string): string {
  return hash('sha256', secret);
}

/** Long enough to tell keys apart in a list, too short to help guessing. */
export function keyPrefix(secret: string): string {
  return secret.slice(0, PREFIX_LENGTH);
}
