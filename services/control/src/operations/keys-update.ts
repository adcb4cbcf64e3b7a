// keys.update: changes name, permissions, limits and other bounds. Omitted fields stay unchanged.
import { RevisionConflict } from '@switchyard/bus';
import {
  changeRateLimits,
  eventIds,
  type KeyRecord,
  makeEvent,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
  toKeyObject,
  type UpdateKeyRequest,
} from '@switchyard/contracts';
import { findCaller, requireNotStronger, requireOwn } from '../keys/authority.ts';
import { findKey } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { EVENT_SOURCE, type KeyOperations } from './keys-create.ts';

/** Attempts when another call changes the key at the same time. */
const TRIES_MAX = 5;

/**
 * @throws ServiceError `key_not_found`; `permission_denied`; `invalid_request` for fixed bounds of the key of
 * SWITCHYARD_KEY.
 */
export function updateKey({ keys, known, events, clock }: KeyOperations) {
  return async ({
    org,
    key_id: by,
    id,
    body,
  }: OperationRequest<'keys.update'>): Promise<OperationResponse<'keys.update'>> => {
    refuseForFirstKey(id, body);
    const expiry = body.expires_at;
    if (expiry && Date.parse(expiry) <= clock.now())
      throw new ServiceError('invalid_request', 'expires_at: is in the past. Use a future time.', {
        param: 'expires_at',
      });
    for (let tries = 1; ; tries++) {
      const { current } = await findKey({ keys, known }, org, id);
      const caller = await findCaller({ keys, known }, { org, key_id: by }, current.value);
      const record = changed(current.value, body);
      requireNotStronger(current.value, caller);
      requireOwn(record, caller);
      try {
        const revision = await keys.update(current.key, record, current.revision);
        await events.publish(
          makeEvent({
            name: 'key.updated',
            id: eventIds.keyUpdated(id, revision),
            source: EVENT_SOURCE,
            time: new Date(clock.now()),
            data: { key_id: id, org, by_key_id: by },
          }),
        );
        return toKeyObject(record);
      } catch (error) {
        if (!(error instanceof RevisionConflict) || tries >= TRIES_MAX) throw error;
      }
    }
  };
}

function changed(record: KeyRecord, body: UpdateKeyRequest): KeyRecord {
  const { name, permissions, expires_at: expiry, limit, models } = body;
  return {
    ...record,
    ...(name === undefined ? {} : { name }),
    ...(permissions === undefined ? {} : { permissions: [...new Set(permissions)] }),
    ...(expiry === undefined ? {} : { expires_at: expiry === null ? null : new Date(expiry).toISOString() }),
    ...(limit === undefined ? {} : { limit }),
    ...(models === undefined ? {} : { models }),
    ...(body.limits === undefined ? {} : { limits: changeRateLimits(record.limits, body.limits) }),
  };
}

function refuseForFirstKey(id: string, body: UpdateKeyRequest): void {
  if (!isFirstKey(id)) return;
  const param = (['permissions', 'expires_at'] as const).find((field) => body[field] !== undefined);
  if (param)
    throw new ServiceError(
      'invalid_request',
      `${param}: the key of SWITCHYARD_KEY always has every permission. Create another key.`,
      {
        param,
      },
    );
}
