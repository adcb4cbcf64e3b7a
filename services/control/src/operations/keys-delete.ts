import type { Entry } from '@switchyard/bus';
import {
  type KeyRecord,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
} from '@switchyard/contracts';
import { type Acting, type Asked, actingOf } from '../changes/administered.ts';
import { deleteWithEvents } from '../changes/write.ts';
import { findCaller, requireNotStronger } from '../keys/authority.ts';
import { changedMeanwhile, findKey, secretsMadeBy, secretsOf } from '../keys/find-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { keyEvent } from '../keys/key-event.ts';
import type { KeyOperations } from './keys-create.ts';

/**
 * Revokes a key, and the keys below it when it is limited. Deletes their records, so that every edge rejects all their
 * secrets.
 * @throws ServiceError `key_not_found`; `permission_denied`; `invalid_request` for the key of SWITCHYARD_KEY
 */
export function deleteKey(deps: KeyOperations) {
  return async (
    { org, key_id, id }: OperationRequest<'keys.delete'>,
    asked: Asked,
  ): Promise<OperationResponse<'keys.delete'>> => {
    const { current, former } = await findKey(deps, org, id);
    requireNotStronger(current.value, await findCaller(deps, { org, key_id }, current.value));
    if (isFirstKey(id))
      throw new ServiceError(
        'invalid_request',
        'This key comes from the setting SWITCHYARD_KEY. Change the setting to revoke it.',
        { param: 'id' },
      );
    const by = actingOf({ org, key_id }, asked);
    await revoke(deps, { by, current, former: former.map(({ key }) => key) });
    return { id, object: 'key', deleted: true };
  };
}

/** Secrets that a rotation may write between two looks at the key. */
const ROTATIONS_MAX = 10;

interface Revocation {
  readonly by: Acting;
  readonly current: Pick<Entry<KeyRecord>, 'key' | 'value'>;
  /** Hashes of the key's other secrets. */
  readonly former: readonly string[];
}

async function revoke(deps: KeyOperations, { by, current, former }: Revocation): Promise<void> {
  const { keys: bucket, events, clock } = deps;
  const to = { bucket, events };
  await Promise.all(former.map((hash) => deleteWithEvents(to, hash, [])));
  const { org, id } = current.value;
  const revoked = keyEvent('revoked', by, current.value, clock.now());
  await deleteWithEvents(to, current.key, [revoked]);
  await deleteNewSecrets(deps, org, id);
  // A key created from now on finds its creator gone, so one scan per generation finds all of them.
  for (const secrets of Map.groupBy(await secretsMadeBy(deps, org, id), ([, record]) => record.id).values()) {
    const [made, ...others] = secrets.toSorted(
      ([, a], [, b]) => Number(!!a.successor) - Number(!!b.successor),
    );
    if (!made) continue;
    const [key, value] = made;
    await revoke(deps, { by, current: { key, value }, former: others.map(([hash]) => hash) });
  }
}

/**
 * Deletes secrets that a rotation wrote while the key was being revoked. One that ends later finds the former secret
 * gone, and deletes the new one itself.
 * @throws ServiceError `service_unavailable` when the key is rotated again and again
 */
async function deleteNewSecrets(deps: KeyOperations, org: string, id: string): Promise<void> {
  for (let rotations = 0; rotations < ROTATIONS_MAX; rotations++) {
    const left = await secretsOf(deps, org, id);
    if (left.length === 0) return;
    await Promise.all(left.map((hash) => deps.keys.delete(hash)));
  }
  throw changedMeanwhile();
}
