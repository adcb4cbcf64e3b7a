// A key's secret: made once, shown once, stored as its SHA-256 only.
import { hash, randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;
const PREFIX_LENGTH = 8;

export function newSecret(): string {
  return `sy_${randomBytes(SECRET_BYTES).toString('base64url')}`;
}

export function hashKey(secret: string): string {
  return hash('sha256', secret);
}

/** Enough to tell keys apart in a list, too little to guess by. */
export function keyPrefix(secret: string): string {
  return secret.slice(0, PREFIX_LENGTH);
}
