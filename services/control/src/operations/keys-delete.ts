import {
  eventIds,
  makeEvent,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { findCaller, requireNotStronger } from '../keys/authority.ts';
import { findKey, secretsMadeBy } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { EVENT_SOURCE, type KeyOperations } from './keys-create.ts';

/**
 * Revokes a key, and the keys below it when it is limited. Deletes their records, so that every edge rejects all their
 * secrets.
 * @throws ServiceError `key_not_found`; `permission_denied`; `invalid_request` for the key of SWITCHYARD_KEY
 */
export function deleteKey(deps: KeyOperations) {
  return async ({
    org,
    key_id: by,
    id,
  }: OperationRequest<'keys.delete'>): Promise<OperationResponse<'keys.delete'>> => {
    const { current, former } = await findKey(deps, org, id);
    requireNotStronger(current.value, await findCaller(deps, { org, key_id: by }, current.value));
    if (isFirstKey(id))
      throw new ServiceError(
        'invalid_request',
        'This key comes from the setting SWITCHYARD_KEY. Change the setting to revoke it.',
        { param: 'id' },
      );
    await revoke(deps, { org, id, by, hashes: [current, ...former].map(({ key }) => key) });
    return { id, object: 'key', deleted: true };
  };
}

interface Revocation {
  readonly org: string;
  readonly id: string;
  readonly by: string;
  /** Hashes of all secrets of the key. */
  readonly hashes: readonly string[];
}

async function revoke(deps: KeyOperations, { org, id, by, hashes }: Revocation): Promise<void> {
  const { keys, events, clock } = deps;
  await Promise.all(hashes.map((hash) => keys.delete(hash)));
  const data = { key_id: id, org, by_key_id: by };
  const time = new Date(clock.now());
  await events.publish(
    makeEvent({ name: 'key.revoked', id: eventIds.key(id, 'revoked'), source: EVENT_SOURCE, time, data }),
  );
  // A key created from now on finds its creator gone, so one scan per generation finds all of them.
  for (const [made, secrets] of Map.groupBy(await secretsMadeBy(deps, org, id), ([, record]) => record.id))
    await revoke(deps, { org, id: made, by, hashes: secrets.map(([hash]) => hash) });
}
