import { eventIds, type KeyRecord, toKeyObject } from '@switchyard/contracts';
import { type Acting, administered, controlEvent } from '../changes/administered.ts';

/**
 * The event of a key's creation or revocation.
 * @param by null: the installation itself
 */
export function keyEvent(change: 'created' | 'revoked', by: Acting | null, key: KeyRecord, now: number) {
  const { id: key_id, org } = key;
  const shown = toKeyObject(key);
  const changed = change === 'created' ? administered(by, null, shown) : administered(by, shown, null);
  return controlEvent(`key.${change}`, {
    ...{ id: eventIds.key(key_id, change), now },
    data: { key_id, org, by_key_id: by?.key_id ?? null, ...changed },
  });
}
