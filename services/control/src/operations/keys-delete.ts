import {
  eventIds,
  makeEvent,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { isFirstKey } from '../keys/first-key.ts';
import { EVENT_SOURCE, type KeyOperations } from './keys-create.ts';

/** Revokes a key: its record goes, every edge sees it go, and its secret opens nothing any more. */
export function deleteKey({ keys, known, events, clock }: KeyOperations) {
  return async ({
    org,
    key_id: by,
    id,
  }: OperationRequest<'keys.delete'>): Promise<OperationResponse<'keys.delete'>> => {
    const hash = findHash(known.entries(), org, id) ?? findHash(await readAll(keys), org, id);
    if (hash === undefined) throw new ServiceError('key_not_found', `there is no key ${id}`);
    if (isFirstKey(id))
      throw new ServiceError(
        'invalid_request',
        'this key comes from SWITCHYARD_KEY and would be back at the next start; it is taken away by changing that setting',
        { param: 'id' },
      );
    await keys.delete(hash);
    const data = { key_id: id, org, by_key_id: by };
    const time = new Date(clock.now());
    await events.publish(
      makeEvent({ name: 'key.revoked', id: eventIds.key(id, 'revoked'), source: EVENT_SOURCE, time, data }),
    );
    return { id, object: 'key', deleted: true };
  };
}

type Entries = [string, { org: string; id: string }][];

function findHash(entries: Entries, org: string, id: string): string | undefined {
  return entries.find(([, record]) => record.org === org && record.id === id)?.[0];
}

/** A key made a moment ago may not have reached the memory yet. */
async function readAll(keys: KeyOperations['keys']): Promise<Entries> {
  return (await keys.entries()).map(({ key, value }) => [key, value]);
}
