// Authenticates a caller: looks up the SHA-256 of the key in the Authorization header.
import { hash } from 'node:crypto';
import type { Mirror } from '@switchyard/bus';
import {
  allows,
  type KeyRecord,
  type OrgRecord,
  PERMISSIONS,
  type Permission,
  ServiceError,
} from '@switchyard/contracts';
import type { KeysByHash } from './keys-by-hash.ts';
import { expired, orgSuspended, replaced } from './open-relays.ts';

/** Maximum characters of a key; longer ones are rejected without hashing. */
const KEY_LENGTH_MAX = 512;
const BEARER = /^Bearer +(\S+) *$/i;

interface AuthenticateOptions {
  keys: Pick<KeysByHash, 'lookup'>;
  orgs: Mirror<OrgRecord>;
  now: () => number;
}

/** Authenticates by the hash of a key's secret, as `hashOfKey` makes it. The key has only this secret. */
export type AuthenticateHash = (keyHash: string) => KeyRecord | Promise<KeyRecord>;

/** @throws ServiceError `missing_api_key`, or `invalid_api_key` for a key with an impossible length */
export function hashOfKey(authorization: string | undefined): string {
  const key = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
  if (key === undefined)
    throw new ServiceError('missing_api_key', 'No API key. Send the header Authorization: Bearer <key>.');
  if (key.length > KEY_LENGTH_MAX) throw unknown();
  return hash('sha256', key);
}

/**
 * Authenticates by hash; a link names its key by hash only. Waits as `KeysByHash.lookup`.
 * @throws ServiceError `invalid_api_key`, `expired_api_key`, `org_suspended`; `service_unavailable`
 */
export function hashAuthenticator({ keys, orgs, now }: AuthenticateOptions): AuthenticateHash {
  const ofActiveOrg = (key: KeyRecord): KeyRecord | Promise<KeyRecord> => {
    const accept = (org: OrgRecord | null) => {
      if (!org) throw unknown(); // it was removed
      if (org.suspended_at) throw orgSuspended();
      return key;
    };
    const found = orgs.lookup(key.org);
    return found instanceof Promise ? found.then(accept) : accept(found);
  };
  const accept = (key: KeyRecord | null): KeyRecord | Promise<KeyRecord> => {
    const secret = key?.secrets[0];
    if (!key || !secret) throw unknown();
    if (secret.until !== null && Date.parse(secret.until) <= now()) throw replaced(secret.until);
    if (key.expires_at !== null && Date.parse(key.expires_at) <= now()) throw expired(key.expires_at);
    return ofActiveOrg(key);
  };
  return (keyHash) => {
    const found = keys.lookup(keyHash);
    const accepted = found instanceof Promise ? found.then(accept) : accept(found);
    return accepted instanceof Promise ? accepted.catch(unchecked) : accepted;
  };
}

function unchecked(cause: unknown): never {
  if (cause instanceof ServiceError) throw cause;
  throw new ServiceError('service_unavailable', 'API keys cannot be checked at the moment. Retry later.', {
    cause,
    retryAfterS: 1,
  });
}

function unknown(): ServiceError {
  return new ServiceError('invalid_api_key', 'The API key is unknown or revoked. Use another key.');
}

/** @throws ServiceError `permission_denied` that names the permission. */
export function requirePermission(key: KeyRecord, needed: Permission): void {
  if (!allows(key.permissions, needed))
    throw new ServiceError(
      'permission_denied',
      `The API key lacks the permission ${needed} (${PERMISSIONS[needed]}). Use another key.`,
    );
}
