// keys.rotate: gives a key a new secret. Its id, permissions, limits and spending stay. The former secret works until
// its grace period ends.
import { type Entry, RevisionConflict } from '@switchyard/bus';
import {
  eventIds,
  FORMER_SECRETS_MAX,
  type KeyRecord,
  MINUTE_MS,
  type OperationRequest,
  type RotatedKey,
  ServiceError,
  toKeyObject,
} from '@switchyard/contracts';
import { type Asked, actingOf, administered, controlEvent } from '../changes/administered.ts';
import { findCaller, requireNotStronger } from '../keys/authority.ts';
import { changedMeanwhile, findKey } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { type Retirement, retire } from '../keys/former-secrets.ts';
import { hashKey, keyPrefix, newSecret } from '../keys/secret.ts';
import type { KeyOperations } from './keys-create.ts';

/**
 * Writes the new secret first and then points the former one to it, so that the key always has a working secret. After
 * an interruption in between, the former secret keeps working, and the next rotation retires both. The second of two
 * concurrent rotations is refused. A key that is rotated again within its grace period has several former secrets, the
 * latest FORMER_SECRETS_MAX.
 * @throws ServiceError `key_not_found`; `permission_denied`; `invalid_request` for the key of SWITCHYARD_KEY;
 *   `service_unavailable`
 */
export function rotateKey(deps: KeyOperations) {
  return async (
    { org, key_id: by, id, body }: OperationRequest<'keys.rotate'>,
    asked: Asked,
  ): Promise<RotatedKey> => {
    const { keys, clock } = deps;
    refuseFirstKey(id);
    const { current, former } = await findKey(deps, org, id);
    requireNotStronger(current.value, await findCaller(deps, { org, key_id: by }, current.value));
    const now = clock.now();
    const until = now + body.grace_minutes * MINUTE_MS;
    const secret = newSecret();
    const hash = hashKey(secret);
    const rotation = (current.value.rotation ?? 0) + 1;
    const record: KeyRecord = { ...current.value, prefix: keyPrefix(secret), rotation };
    const rotated = controlEvent('key.rotated', {
      ...{ id: eventIds.keyRotated(id, current.revision), now },
      data: {
        ...{ key_id: id, org, by_key_id: by },
        ...administered(
          actingOf({ org, key_id: by }, asked),
          toKeyObject(current.value),
          toKeyObject(record),
        ),
      },
    });
    await keys.create(hash, record);
    const retirement = { successor: hash, until };
    try {
      await retire(deps, current, { ...retirement, happened: [rotated] });
    } catch (error) {
      // After any other error the former secret may point to the new one already. Then the next rotation retires both.
      if (!(error instanceof RevisionConflict)) throw error;
      await keys.delete(hash);
      throw changedMeanwhile();
    }
    const byRotation = former.toSorted((a, b) => (b.value.rotation ?? 0) - (a.value.rotation ?? 0));
    for (const [i, entry] of byRotation.entries()) {
      const isKept = i + 1 < FORMER_SECRETS_MAX; // after the secret that was retired just now
      const to = { ...retirement, until: isKept ? until : now, replaced: [current, ...byRotation] };
      // Otherwise it ends at its own time. The answer has the only copy of the new secret.
      await retireFormer(deps, entry, to).catch(() => {});
    }
    return { ...toKeyObject(record), key: secret, former_until: new Date(until).toISOString() };
  };
}

/**
 * Retires a former secret. After a conflict again, unless a later rotation has made it point to a newer secret.
 * @param replaced the secrets that this rotation replaces
 */
async function retireFormer(
  deps: KeyOperations,
  entry: Entry<KeyRecord>,
  { replaced, ...retirement }: Retirement & { readonly replaced: readonly Entry<KeyRecord>[] },
): Promise<void> {
  try {
    await retire(deps, entry, retirement);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    const latest = await deps.keys.get(entry.key);
    const successor = latest?.value.successor;
    const isOlder = !successor || replaced.some(({ key }) => key === successor);
    if (latest && isOlder) await retire(deps, latest, retirement);
  }
}

function refuseFirstKey(id: string): void {
  if (!isFirstKey(id)) return;
  const message = 'This key comes from the setting SWITCHYARD_KEY. Change the setting to rotate it.';
  throw new ServiceError('invalid_request', message, { param: 'id' });
}
