import type { Bucket, EventPublisher, Mirror } from '@switchyard/bus';
import {
  type CreatedKey,
  type CreateKeyRequest,
  changeRateLimits,
  invalidParam,
  KEY_LINE_MAX,
  KEYS_PER_ORG_MAX,
  type KeyRecord,
  keyRecordKey,
  makersOf,
  newKeyId,
  type OperationRequest,
  ServiceError,
  toKeyObject,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { type Acting, actingOf, type RequestContext } from '../changes/administered.ts';
import { createWithEvents, deleteWithEvents } from '../changes/write.ts';
import { findCaller, requireOwn } from '../keys/authority.ts';
import { keysOf } from '../keys/find-key.ts';
import { keyEvent } from '../keys/key-event.ts';
import { hashKey, keyPrefix, newSecret } from '../keys/secret.ts';

export interface KeyOperations {
  keys: Bucket<KeyRecord>;
  /** Mirror of all keys; finding an org's keys scans it. */
  known: Mirror<KeyRecord>;
  events: EventPublisher;
  clock: Clock;
}

/**
 * Creates a key with the bounds of its creator, or narrower ones. The secret is only in this response.
 * @throws ServiceError `permission_denied` for wider bounds; `invalid_request`; `invalid_api_key`
 */
export function createKey(deps: KeyOperations) {
  return (
    { org, key_id, body }: OperationRequest<'keys.create'>,
    context: RequestContext,
  ): Promise<CreatedKey> => {
    const caller = { org, key_id };
    return issueKey(deps, {
      ...{ by: actingOf(caller, context), body },
      findMaker: () => findCaller(deps.keys, caller),
    });
  };
}

interface NewKey {
  readonly by: Acting;
  readonly body: CreateKeyRequest;
  /** The key that gives the new key its org and widest bounds. */
  readonly findMaker: () => Promise<KeyRecord>;
}

/** @throws as `createKey`, and the errors of `findMaker` */
export async function issueKey(
  { keys, known, events, clock }: KeyOperations,
  { by, body, findMaker }: NewKey,
): Promise<CreatedKey> {
  const now = clock.now();
  const maker = await findMaker();
  const { org } = maker;
  const secret = newSecret();
  const record = recordOf(body, { maker, secret, now });
  if (record.expires_at !== null && Date.parse(record.expires_at) <= now)
    throw invalidParam('expires_at', 'is in the past. Use a future time.');
  if (keysOf(known, org).length >= KEYS_PER_ORG_MAX)
    throw new ServiceError(
      'invalid_request',
      `The org has the maximum of ${KEYS_PER_ORG_MAX} keys. Revoke some first.`,
    );
  requireOwn(record, maker);
  requireShortLine(record);
  const to = { bucket: keys, events };
  const key = keyRecordKey(org, record.id);
  await createWithEvents(to, key, record, [keyEvent('created', by, record, now)]);
  // The creator may have been revoked before this key was visible to the revocation, so check the creator again.
  await findMaker().catch(async (error: unknown) => {
    await deleteWithEvents(to, key, [keyEvent('revoked', by, record, now)]);
    throw error;
  });
  return { ...toKeyObject(record), key: secret };
}

interface Making {
  readonly maker: KeyRecord;
  readonly secret: string;
  readonly now: number;
}

/** Bounds that the request leaves out are inherited from the creator. */
function recordOf(body: CreateKeyRequest, { maker, secret, now }: Making): KeyRecord {
  const { expires_at: expiresAt = maker.expires_at, limit = maker.limit, models = maker.models } = body;
  return {
    id: newKeyId(maker),
    org: maker.org,
    name: body.name,
    permissions: [...new Set(body.permissions)],
    prefix: keyPrefix(secret),
    created_at: new Date(now).toISOString(),
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    limit: limit ?? null,
    models: models ?? null,
    limits: changeRateLimits(maker.limits, body.limits),
    metadata: body.metadata ?? null,
    secrets: [{ hash: hashKey(secret), until: null }],
  };
}

function requireShortLine({ id }: KeyRecord): void {
  if (makersOf(id).length < KEY_LINE_MAX) return;
  const message = `This API key is ${KEY_LINE_MAX - 1} keys below a limited one. Use a key above it to make keys.`;
  throw new ServiceError('permission_denied', message);
}
