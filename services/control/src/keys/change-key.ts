// Changes a key: one compare-and-set, which carries the event of the change.
import type { Bucket, EventPublisher } from '@switchyard/bus';
import { type Caller, eventIds, type KeyRecord, keyRecordKey, toKeyObject } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { actingOf, administered, controlEvent, type RequestContext } from '../changes/administered.ts';
import { changeWithEvents } from '../changes/write.ts';
import { findCaller, requireNotStronger } from './authority.ts';
import { keyNotFound } from './find-key.ts';

interface ChangeDeps {
  readonly keys: Bucket<KeyRecord>;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly clock: Clock;
}

interface KeyChange {
  readonly event: 'key.updated' | 'key.rotated';
  readonly id: string;
  readonly caller: Caller;
  readonly context: RequestContext;
  /** Returns the new record. Runs again after a conflict with another writer. */
  readonly change: (key: KeyRecord, caller: KeyRecord) => KeyRecord;
}

/**
 * @returns the new record
 * @throws ServiceError `key_not_found`; `permission_denied` for a key that may do more than its caller;
 *   `invalid_api_key`; `service_unavailable`; errors of `change`
 */
export async function changeKey(
  { keys, events, clock }: ChangeDeps,
  { event, id, caller, context, change }: KeyChange,
): Promise<KeyRecord> {
  const { org, key_id: by } = caller;
  const idOf = event === 'key.updated' ? eventIds.keyUpdated : eventIds.keyRotated;
  const changed = await changeWithEvents(
    { bucket: keys, events },
    keyRecordKey(org, id),
    async (found) => {
      if (!found) return keyNotFound(id);
      const calling = await findCaller(keys, caller, found.value);
      requireNotStronger(found.value, calling);
      return change(found.value, calling);
    },
    (before, after) => [
      controlEvent(event, {
        ...{ id: idOf(id, before?.revision ?? 0), now: clock.now() },
        data: {
          ...{ key_id: id, org, by_key_id: by },
          ...administered(actingOf(caller, context), before && toKeyObject(before.value), toKeyObject(after)),
        },
      }),
    ],
  );
  return changed?.value ?? keyNotFound(id);
}
