// Decides whether the calling key may create or manage a key. The edge has checked its permissions; this file checks
// its bounds against the current record in the bucket.
import type { Bucket } from '@switchyard/bus';
import { allows, type Caller, type KeyRecord, ServiceError, strongerIn } from '@switchyard/contracts';
import { findKey } from './find-key.ts';
import { isFirstKey } from './first-key.ts';

/**
 * Returns the record of the calling key. The key of SWITCHYARD_KEY belongs to the operator: its limits bind its own
 * calls only.
 * @param target the key to manage; when that is the caller itself, both are one record and one compare-and-set covers
 *   both
 * @throws ServiceError `invalid_api_key` when the caller was revoked in the meantime; `service_unavailable`
 */
export async function findCaller(
  keys: Pick<Bucket<KeyRecord>, 'get'>,
  { org, key_id }: Caller,
  target?: KeyRecord,
): Promise<KeyRecord> {
  const isTarget = target?.id === key_id;
  const record = isTarget ? target : (await findKey(keys, org, key_id).catch(revoked)).value;
  return isFirstKey(record.id) ? { ...record, limit: null, models: null, limits: null } : record;
}

function revoked(cause: unknown): never {
  if (!(cause instanceof ServiceError) || cause.code !== 'key_not_found') throw cause;
  throw new ServiceError('invalid_api_key', 'This API key was revoked. Use another key.', { cause });
}

/**
 * @throws ServiceError `permission_denied` when the key may do more than its caller: rotating it would reveal its
 * secret.
 */
export function requireNotStronger(key: KeyRecord, caller: KeyRecord): void {
  const field = strongerIn(key, caller);
  if (field === null) return;
  const message = `${key.id} may do more than this API key (${field}). Use a key that may do as much.`;
  throw new ServiceError('permission_denied', message, { param: 'id' });
}

/** @throws ServiceError `permission_denied` that names the field in which a key would exceed its caller. */
export function requireOwn(wanted: KeyRecord, caller: KeyRecord): void {
  const field = strongerIn(wanted, caller);
  if (field === null) return;
  const lacking = wanted.permissions.find((one) => !allows(caller.permissions, one));
  const reason = field === 'permissions' ? `lacks ${lacking}` : 'has less';
  const message = `${field}: this API key ${reason}. A key can grant only what it has.`;
  throw new ServiceError('permission_denied', message, { param: field });
}
