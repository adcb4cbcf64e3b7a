// Secrets of webhooks, in the format of Standard Webhooks. The newest one signs first; a rotated one also signs during
// its grace period.
import { randomBytes } from 'node:crypto';
import { type StoredSecrets, WEBHOOK_SECRET_GRACE_MS } from '@switchyard/contracts';

const SECRET_BYTES = 32;

/** Secrets kept per webhook; rotating more often within the grace period drops the oldest. */
const SECRETS_MAX = 5;

export function firstSecret(): StoredSecrets {
  return [{ secret: newSecret(), until: null }];
}

export function newestSecret(secrets: StoredSecrets): string {
  const [newest] = secrets;
  if (!newest) throw new Error('a webhook without a secret');
  return newest.secret;
}

/** Puts a new secret before the others, which end with their grace period. */
export function rotated(secrets: StoredSecrets, now: number): StoredSecrets {
  const until = new Date(now + WEBHOOK_SECRET_GRACE_MS).toISOString();
  const former = inForce(secrets, now).map((one) => ({ ...one, until: one.until ?? until }));
  return [{ secret: newSecret(), until: null }, ...former].slice(0, SECRETS_MAX);
}

/** The secrets that sign at this time. */
export function inForce(secrets: StoredSecrets, now: number): StoredSecrets {
  return secrets.filter(({ until }) => until === null || Date.parse(until) > now);
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
