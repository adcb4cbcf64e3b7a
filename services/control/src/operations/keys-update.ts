// keys.update: another name, other permissions, another limit. What is left out stays as it is.
import { RevisionConflict } from '@switchyard/bus';
import {
  eventIds,
  type KeyRecord,
  makeEvent,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
  toKeyObject,
  type UpdateKeyRequest,
} from '@switchyard/contracts';
import { findKey } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { EVENT_SOURCE, type KeyOperations } from './keys-create.ts';

/** Two who change it at the same moment: the second reads again, this often at the most. */
const TRIES_MAX = 5;

/** @throws ServiceError `key_not_found`; `invalid_request` for what the key of SWITCHYARD_KEY always has. */
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
      throw new ServiceError('invalid_request', 'expires_at: must be in the future', { param: 'expires_at' });
    for (let tries = 1; ; tries++) {
      const { current } = await findKey({ keys, known }, org, id);
      const record = changed(current.value, body);
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
  };
}

function refuseForFirstKey(id: string, body: UpdateKeyRequest): void {
  if (!isFirstKey(id)) return;
  const param = (['permissions', 'expires_at'] as const).find((field) => body[field] !== undefined);
  if (param)
    throw new ServiceError(
      'invalid_request',
      `${param}: the key of SWITCHYARD_KEY has every permission, for ever`,
      {
        param,
      },
    );
}
