import type { Bucket, EventPublisher, Mirror } from '@switchyard/bus';
import {
  type CreatedKey,
  eventIds,
  KEYS_PER_ORG_MAX,
  type KeyRecord,
  makeEvent,
  newId,
  type OperationRequest,
  ServiceError,
  toKeyObject,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { hashKey, keyPrefix, newSecret } from '../keys/secret.ts';

export interface KeyOperations {
  keys: Bucket<KeyRecord>;
  /** All keys in memory: an org's are found by going through them. */
  known: Mirror<KeyRecord>;
  events: EventPublisher;
  clock: Clock;
}

export const EVENT_SOURCE = '/switchyard/control';

/** Makes a key. The secret is in the answer and nowhere else. */
export function createKey({ keys, known, events, clock }: KeyOperations) {
  return async ({ org, key_id: by, body }: OperationRequest<'keys.create'>): Promise<CreatedKey> => {
    const now = clock.now();
    const expiresAt = body.expires_at ?? null;
    if (expiresAt !== null && Date.parse(expiresAt) <= now)
      throw new ServiceError('invalid_request', 'expires_at: must be in the future', { param: 'expires_at' });
    const count = known.entries().filter(([, record]) => record.org === org && !record.successor).length;
    if (count >= KEYS_PER_ORG_MAX)
      throw new ServiceError(
        'invalid_request',
        `an org has at most ${KEYS_PER_ORG_MAX} keys; revoke some first`,
      );
    const secret = newSecret();
    const record: KeyRecord = {
      id: newId('key'),
      org,
      name: body.name,
      permissions: [...new Set(body.permissions)],
      prefix: keyPrefix(secret),
      created_at: new Date(now).toISOString(),
      expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      limit: body.limit ?? null,
      models: body.models ?? null,
    };
    await keys.create(hashKey(secret), record);
    const data = { key_id: record.id, org, by_key_id: by };
    const id = eventIds.key(record.id, 'created');
    await events.publish(
      makeEvent({ name: 'key.created', id, source: EVENT_SOURCE, time: new Date(now), data }),
    );
    return { ...toKeyObject(record), key: secret };
  };
}
