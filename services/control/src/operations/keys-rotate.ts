// keys.rotate: another secret for the same key. Its id, permissions, limits and what it has spent stay; the former
// secret leads to it for a while, and then opens nothing any more.
import { RevisionConflict } from '@switchyard/bus';
import {
  eventIds,
  type KeyRecord,
  makeEvent,
  type OperationRequest,
  type RotatedKey,
  ServiceError,
  toKeyObject,
} from '@switchyard/contracts';
import { findKey } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { retire } from '../keys/former-secrets.ts';
import { hashKey, keyPrefix, newSecret } from '../keys/secret.ts';
import { EVENT_SOURCE, type KeyOperations } from './keys-create.ts';

const MINUTE_MS = 60_000;

/**
 * In an order in which a key is never without a secret that opens it: the new one first, then the former one is made to
 * lead there. Cut short in between, the former secret goes on as before, and the next rotation takes both out of use.
 * Of two rotations at once the second is refused. Rotated again within its grace, a key has several former secrets.
 * @throws ServiceError `key_not_found`; `invalid_request` for the key of SWITCHYARD_KEY; `service_unavailable`
 */
export function rotateKey(on: KeyOperations) {
  return async ({ org, key_id: by, id, body }: OperationRequest<'keys.rotate'>): Promise<RotatedKey> => {
    const { keys, events, clock } = on;
    refuseFirstKey(id);
    const { current, former } = await findKey(on, org, id);
    const now = clock.now();
    const until = now + body.grace_minutes * MINUTE_MS;
    const secret = newSecret();
    const hash = hashKey(secret);
    const rotation = (current.value.rotation ?? 0) + 1;
    const record: KeyRecord = { ...current.value, prefix: keyPrefix(secret), rotation };
    const revision = await keys.create(hash, record);
    try {
      await retire(on, current, hash, until);
    } catch (error) {
      await keys.delete(hash);
      if (!(error instanceof RevisionConflict)) throw error;
      const message = 'the key was changed at the same moment; try again';
      throw new ServiceError('service_unavailable', message, { retryAfterS: 1 });
    }
    for (const entry of former) await retire(on, entry, hash, until);
    const event = {
      name: 'key.updated',
      id: eventIds.keyUpdated(id, revision),
      source: EVENT_SOURCE,
      time: new Date(now),
      data: { key_id: id, org, by_key_id: by },
    } as const;
    await events.publish(makeEvent(event));
    return { ...toKeyObject(record), key: secret, former_until: new Date(until).toISOString() };
  };
}

function refuseFirstKey(id: string): void {
  if (!isFirstKey(id)) return;
  const message = 'this key comes from SWITCHYARD_KEY: it is changed by changing that setting';
  throw new ServiceError('invalid_request', message, { param: 'id' });
}
