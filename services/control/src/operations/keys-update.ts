// keys.update: changes name, permissions, limits and other bounds. Omitted fields stay unchanged.
import {
  changeRateLimits,
  invalidParam,
  type KeyRecord,
  type OperationRequest,
  type OperationResponse,
  toKeyObject,
  type UpdateKeyRequest,
} from '@switchyard/contracts';
import type { RequestContext } from '../changes/administered.ts';
import { requireOwn } from '../keys/authority.ts';
import { changeKey } from '../keys/change-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import type { KeyOperations } from './keys-create.ts';

/** @throws ServiceError as `changeKey`; `invalid_request` for fixed bounds of the key of SWITCHYARD_KEY */
export function updateKey(deps: KeyOperations) {
  return async (
    { org, key_id, id, body }: OperationRequest<'keys.update'>,
    context: RequestContext,
  ): Promise<OperationResponse<'keys.update'>> => {
    refuseForFirstKey(id, body);
    const expiry = body.expires_at;
    if (expiry && Date.parse(expiry) <= deps.clock.now())
      throw invalidParam('expires_at', 'is in the past. Use a future time.');
    const updated = await changeKey(deps, {
      ...{ event: 'key.updated', id, caller: { org, key_id }, context },
      change: (key, caller) => {
        const record = applyUpdate(key, body);
        requireOwn(record, caller);
        return record;
      },
    });
    return toKeyObject(updated);
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
