// Secrets of webhooks, in the form of Standard Webhooks: the newest signs first, one that was rotated away signs along
// for its grace.
import { randomBytes } from 'node:crypto';
import { type StoredSecrets, WEBHOOK_SECRET_GRACE_MS } from '@switchyard/contracts';

const SECRET_BYTES = 32;

/** Secrets kept of one webhook: rotating faster than the grace drops the oldest. */
const SECRETS_MAX = 5;

export function firstSecret(): StoredSecrets {
  return [{ secret: newSecret(), until: null }];
}

export function newestSecret(secrets: StoredSecrets): string {
  const [newest] = secrets;
  if (!newest) throw new Error('a webhook without a secret');
  return newest.secret;
}

/** A new secret before the others, which end by the grace. */
export function rotated(secrets: StoredSecrets, now: number): StoredSecrets {
  const until = new Date(now + WEBHOOK_SECRET_GRACE_MS).toISOString();
  const former = inForce(secrets, now).map((one) => ({ ...one, until: one.until ?? until }));
  return [{ secret: newSecret(), until: null }, ...former].slice(0, SECRETS_MAX);
}

/** Those that sign at this time. */
export function inForce(secrets: StoredSecrets, now: number): StoredSecrets {
  return secrets.filter(({ until }) => until === null || Date.parse(until) > now);
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
