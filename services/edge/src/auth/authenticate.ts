// Who calls: the key of the Authorization header, looked up by its SHA-256 in the mirror of the bucket `keys`.
import { hash } from 'node:crypto';
import type { Mirror } from '@switchyard/bus';
import { allows, type KeyRecord, PERMISSIONS, type Permission, ServiceError } from '@switchyard/contracts';

/** Characters of a key: longer ones are not even hashed. */
const KEY_LENGTH_MAX = 512;
const BEARER = /^Bearer +(\S+) *$/i;

export type Authenticate = (authorization: string | undefined) => KeyRecord | Promise<KeyRecord>;

export interface AuthenticateOptions {
  keys: Mirror<KeyRecord>;
  now: () => number;
}

/** A function that throws `missing_api_key`, `invalid_api_key` or `expired_api_key`; it waits only when the mirror is stale. */
export function authenticator({ keys, now }: AuthenticateOptions): Authenticate {
  const accept = (record: KeyRecord | null): KeyRecord => {
    if (!record) throw new ServiceError('invalid_api_key', 'the API key is unknown or was revoked');
    if (record.expires_at !== null && Date.parse(record.expires_at) <= now())
      throw new ServiceError('expired_api_key', `the API key expired at ${record.expires_at}`);
    return record;
  };
  return (authorization) => {
    const key = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
    if (key === undefined)
      throw new ServiceError('missing_api_key', 'send your API key as Authorization: Bearer <key>');
    if (key.length > KEY_LENGTH_MAX)
      throw new ServiceError('invalid_api_key', 'the API key is unknown or was revoked');
    const found = keys.lookup(hash('sha256', key));
    if (!(found instanceof Promise)) return accept(found);
    return found.then(accept, (cause) => {
      if (cause instanceof ServiceError) throw cause;
      throw new ServiceError('service_unavailable', 'keys cannot be checked just now', {
        cause,
        retryAfterS: 1,
      });
    });
  };
}

/** @throws ServiceError `permission_denied`, naming the permission. */
export function requirePermission(key: KeyRecord, needed: Permission): void {
  if (!allows(key.permissions, needed))
    throw new ServiceError(
      'permission_denied',
      `this API key lacks the permission ${needed} (${PERMISSIONS[needed]})`,
    );
}
