import type { Entry } from '@switchyard/bus';
import {
  KEY_LINE_MAX,
  type KeyRecord,
  makersOf,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { type Acting, actingOf, type RequestContext } from '../changes/administered.ts';
import { deleteWithEvents } from '../changes/write.ts';
import { findCaller, requireNotStronger } from '../keys/authority.ts';
import { findKey } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { keyEvent } from '../keys/key-event.ts';
import type { KeyOperations } from './keys-create.ts';

/**
 * Revokes a key, and the keys below it when it is limited. Deletes their records, so that every edge rejects all their
 * secrets. A concurrent change does not block the deletion, and finds no key.
 * @throws ServiceError `key_not_found`; `permission_denied`; `invalid_request` for the key of SWITCHYARD_KEY
 */
export function deleteKey(deps: KeyOperations) {
  return async (
    { org, key_id, id }: OperationRequest<'keys.delete'>,
    context: RequestContext,
  ): Promise<OperationResponse<'keys.delete'>> => {
    const { key, value } = await findKey(deps.keys, org, id);
    requireNotStronger(value, await findCaller(deps.keys, { org, key_id }, value));
    if (isFirstKey(id))
      throw new ServiceError(
        'invalid_request',
        'This key comes from the setting SWITCHYARD_KEY. Change the setting to revoke it.',
        { param: 'id' },
      );
    const by = actingOf({ org, key_id }, context);
    await revoke(deps, by, { key, value });
    await revokeMadeBy(deps, by, { org, id });
    return { id, object: 'key', deleted: true };
  };
}

/** A key created from now on finds its creator gone, so one scan per generation finds all of them. */
async function revokeMadeBy(
  deps: KeyOperations,
  by: Acting,
  { org, id }: Pick<KeyRecord, 'org' | 'id'>,
): Promise<void> {
  for (let generation = 1; generation < KEY_LINE_MAX; generation++) {
    const all = await deps.keys.readableEntries(`${org}.>`);
    const made = all.filter(({ value }) => makersOf(value.id).includes(id));
    if (made.length === 0) return;
    await Promise.all(made.map((entry) => revoke(deps, by, entry)));
  }
}

async function revoke(
  { keys: bucket, events, clock }: KeyOperations,
  by: Acting,
  { key, value }: Pick<Entry<KeyRecord>, 'key' | 'value'>,
): Promise<void> {
  await deleteWithEvents({ bucket, events }, key, [keyEvent('revoked', by, value, clock.now())]);
}
