import {
  eventIds,
  makeEvent,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { findKey } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { EVENT_SOURCE, type KeyOperations } from './keys-create.ts';

/** Revokes a key: its records go, every edge sees them go, and its secrets open nothing any more. */
export function deleteKey({ keys, known, events, clock }: KeyOperations) {
  return async ({
    org,
    key_id: by,
    id,
  }: OperationRequest<'keys.delete'>): Promise<OperationResponse<'keys.delete'>> => {
    const { current, former } = await findKey({ keys, known }, org, id);
    if (isFirstKey(id))
      throw new ServiceError(
        'invalid_request',
        'this key comes from SWITCHYARD_KEY and would be back at the next start; it is taken away by changing that setting',
        { param: 'id' },
      );
    await Promise.all([current, ...former].map(({ key }) => keys.delete(key)));
    const data = { key_id: id, org, by_key_id: by };
    const time = new Date(clock.now());
    await events.publish(
      makeEvent({ name: 'key.revoked', id: eventIds.key(id, 'revoked'), source: EVENT_SOURCE, time, data }),
    );
    return { id, object: 'key', deleted: true };
  };
}
