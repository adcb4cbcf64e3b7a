// Authenticates a caller: looks up the SHA-256 of the key in the Authorization header in the mirror of the bucket
// `keys`.
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
import { expired, orgSuspended, replaced } from './open-relays.ts';

/** Maximum characters of a key; longer ones are rejected without hashing. */
const KEY_LENGTH_MAX = 512;
const BEARER = /^Bearer +(\S+) *$/i;

export type Authenticate = (authorization: string | undefined) => KeyRecord | Promise<KeyRecord>;

interface AuthenticateOptions {
  keys: Mirror<KeyRecord>;
  orgs: Mirror<OrgRecord>;
  now: () => number;
}

/** Authenticates by the hash of a key's secret, as `hashOfKey` makes it. */
export type AuthenticateHash = (keyHash: string) => KeyRecord | Promise<KeyRecord>;

/**
 * Returns a function that throws `missing_api_key`, `invalid_api_key` or `expired_api_key`; it waits only when the
 * mirror is stale.
 */
export function authenticator(byHash: AuthenticateHash): Authenticate {
  return (authorization) => byHash(hashOfKey(authorization));
}

/** Adds `again`, which authenticates the caller of an earlier request by the record that it got then. */
export function rememberingHashes(byHash: AuthenticateHash) {
  const hashes = new WeakMap<object, string>();
  const authenticateHash: AuthenticateHash = (keyHash) => {
    const remembered = (key: KeyRecord) => {
      hashes.set(key, keyHash);
      return key;
    };
    const found = byHash(keyHash);
    return found instanceof Promise ? found.then(remembered) : remembered(found);
  };
  /** @returns null for what is no such record */
  const again = (key: object): ReturnType<AuthenticateHash> | null => {
    const keyHash = hashes.get(key);
    return keyHash === undefined ? null : byHash(keyHash);
  };
  return { authenticateHash, again };
}

/** @throws ServiceError `missing_api_key`, or `invalid_api_key` for a key with an impossible length */
export function hashOfKey(authorization: string | undefined): string {
  const key = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
  if (key === undefined)
    throw new ServiceError('missing_api_key', 'No API key. Send the header Authorization: Bearer <key>.');
  if (key.length > KEY_LENGTH_MAX) throw unknown();
  return hash('sha256', key);
}

/** For a link, which names a key by hash without containing it. Throws as `authenticator`. */
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
  const inUse = (record: KeyRecord | null): KeyRecord => {
    if (!record || record.successor) throw unknown();
    if (record.expires_at !== null && Date.parse(record.expires_at) <= now())
      throw expired(record.expires_at);
    return record;
  };
  const accept = (record: KeyRecord | null): KeyRecord | Promise<KeyRecord> => {
    if (!record?.successor) return ofActiveOrg(inUse(record));
    // A replaced secret gives the access of its successor, as long as both are valid.
    const { successor, rotation, retires_at } = record;
    if (!retires_at || Date.parse(retires_at) <= now()) throw replaced(retires_at);
    const found = keys.lookup(successor);
    const asFormer = (current: KeyRecord | null) => ofActiveOrg({ ...inUse(current), rotation, retires_at });
    return found instanceof Promise ? found.then(asFormer) : asFormer(found);
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
