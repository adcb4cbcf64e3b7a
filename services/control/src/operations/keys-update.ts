// keys.update: changes name, permissions, limits and other bounds. Omitted fields stay unchanged.
import type { Entry } from '@switchyard/bus';
import {
  changeRateLimits,
  eventIds,
  invalidParam,
  type KeyRecord,
  type OperationRequest,
  type OperationResponse,
  toKeyObject,
  type UpdateKeyRequest,
} from '@switchyard/contracts';
import { type Asked, actingOf, administered, controlEvent } from '../changes/administered.ts';
import { changeWithEvents } from '../changes/write.ts';
import { findCaller, requireNotStronger, requireOwn } from '../keys/authority.ts';
import { changedMeanwhile, findKey } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import type { KeyOperations } from './keys-create.ts';

/**
 * @throws ServiceError `key_not_found`; `permission_denied`; `invalid_request` for fixed bounds of the key of
 * SWITCHYARD_KEY.
 */
export function updateKey({ keys, known, events, clock }: KeyOperations) {
  return async (
    { org, key_id: callerKeyId, id, body }: OperationRequest<'keys.update'>,
    asked: Asked,
  ): Promise<OperationResponse<'keys.update'>> => {
    refuseForFirstKey(id, body);
    const expiry = body.expires_at;
    if (expiry && Date.parse(expiry) <= clock.now())
      throw invalidParam('expires_at', 'is in the past. Use a future time.');
    const { current, former } = await findKey({ keys, known }, org, id);
    const decide = async (found: Entry<KeyRecord> | null) => {
      if (!found || found.value.successor) throw changedMeanwhile();
      const caller = await findCaller({ keys, known }, { org, key_id: callerKeyId }, found.value);
      const record = applyUpdate(found.value, body);
      requireNotStronger(found.value, caller);
      requireOwn(record, caller);
      return record;
    };
    const acting = actingOf({ org, key_id: callerKeyId }, asked);
    const updated = (before: Entry<KeyRecord> | null, after: KeyRecord) => [
      controlEvent('key.updated', {
        ...{ id: eventIds.keyUpdated(id, before?.revision ?? 0), now: clock.now() },
        data: {
          ...{ key_id: id, org, by_key_id: callerKeyId },
          ...administered(acting, before && toKeyObject(before.value), toKeyObject(after)),
        },
      }),
    ];
    // After an interrupted rotation the holder has a former secret; the current one was never delivered.
    const secrets = [...former.filter(({ value }) => !value.successor), current];
    let entry: Entry<KeyRecord> | null = null;
    for (const [i, { key }] of secrets.entries()) {
      const eventsOf = i === 0 ? updated : () => []; // a later write may be refused
      entry = await changeWithEvents({ bucket: keys, events }, key, decide, eventsOf);
    }
    if (!entry) throw changedMeanwhile();
    return toKeyObject(entry.value);
  };
}

function applyUpdate(record: KeyRecord, body: UpdateKeyRequest): KeyRecord {
  const { name, permissions, expires_at: expiry, limit, models } = body;
  return {
    ...record,
    ...(name === undefined ? {} : { name }),
    ...(permissions === undefined ? {} : { permissions: [...new Set(permissions)] }),
    ...(expiry === undefined ? {} : { expires_at: expiry === null ? null : new Date(expiry).toISOString() }),
    ...(limit === undefined ? {} : { limit }),
    ...(models === undefined ? {} : { models }),
    ...(body.metadata === undefined ? {} : { metadata: body.metadata }),
    ...(body.limits === undefined ? {} : { limits: changeRateLimits(record.limits, body.limits) }),
  };
}

function refuseForFirstKey(id: string, body: UpdateKeyRequest): void {
  if (!isFirstKey(id)) return;
  const param = (['permissions', 'expires_at'] as const).find((field) => body[field] !== undefined);
  if (param)
    throw invalidParam(param, 'the key of SWITCHYARD_KEY always has every permission. Create another key.');
}
