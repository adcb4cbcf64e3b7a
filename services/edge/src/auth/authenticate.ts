// Who calls: the key of the Authorization header, looked up by its SHA-256 in the mirror of the bucket `keys`.
import { hash } from 'node:crypto';
import type { Mirror } from '@switchyard/bus';
import { allows, type KeyRecord, PERMISSIONS, type Permission, ServiceError } from '@switchyard/contracts';
import { expired, replaced } from './open-relays.ts';

/** Characters of a key: longer ones are not even hashed. */
const KEY_LENGTH_MAX = 512;
const BEARER = /^Bearer +(\S+) *$/i;

export type Authenticate = (authorization: string | undefined) => KeyRecord | Promise<KeyRecord>;

export interface AuthenticateOptions {
  keys: Mirror<KeyRecord>;
  now: () => number;
}

/** By the hash of a key's secret, as `hashOfKey` makes it. */
export type AuthenticateHash = (keyHash: string) => KeyRecord | Promise<KeyRecord>;

/** A function that throws `missing_api_key`, `invalid_api_key` or `expired_api_key`; it waits only when the mirror is stale. */
export function authenticator(options: AuthenticateOptions): Authenticate {
  const byHash = hashAuthenticator(options);
  return (authorization) => byHash(hashOfKey(authorization));
}

/** @throws ServiceError `missing_api_key`, `invalid_api_key` for what cannot be one */
export function hashOfKey(authorization: string | undefined): string {
  const key = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
  if (key === undefined)
    throw new ServiceError('missing_api_key', 'send your API key as Authorization: Bearer <key>');
  if (key.length > KEY_LENGTH_MAX) throw unknown();
  return hash('sha256', key);
}

/** For what names a key without having it: a link. Throws as `authenticator`. */
export function hashAuthenticator({ keys, now }: AuthenticateOptions): AuthenticateHash {
  const inUse = (record: KeyRecord | null): KeyRecord => {
    if (!record || record.successor) throw unknown();
    if (record.expires_at !== null && Date.parse(record.expires_at) <= now())
      throw expired(record.expires_at);
    return record;
  };
  const accept = (record: KeyRecord | null): KeyRecord | Promise<KeyRecord> => {
    if (!record?.successor) return inUse(record);
    // A secret that was replaced: it opens what its successor does, for as long as both are accepted.
    const { successor, rotation, retires_at } = record;
    if (!retires_at || Date.parse(retires_at) <= now()) throw replaced(retires_at);
    const found = keys.lookup(successor);
    const asFormer = (current: KeyRecord | null) => ({ ...inUse(current), rotation, retires_at });
    return found instanceof Promise ? found.then(asFormer) : asFormer(found);
  };
  return (keyHash) => {
    const found = keys.lookup(keyHash);
    if (!(found instanceof Promise)) return accept(found);
    return found.then(accept).catch((cause: unknown) => {
      if (cause instanceof ServiceError) throw cause;
      throw new ServiceError('service_unavailable', 'keys cannot be checked just now', {
        cause,
        retryAfterS: 1,
      });
    });
  };
}

function unknown(): ServiceError {
  return new ServiceError('invalid_api_key', 'the API key is unknown or was revoked');
}

/** @throws ServiceError `permission_denied`, naming the permission. */
export function requirePermission(key: KeyRecord, needed: Permission): void {
  if (!allows(key.permissions, needed))
    throw new ServiceError(
      'permission_denied',
      `this API key lacks the permission ${needed} (${PERMISSIONS[needed]})`,
    );
}
