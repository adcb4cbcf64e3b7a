// The records of orgs and keys, which have the limits, and the placements of computers, whose minutes are held.
// All partitions of a process share one copy in memory.
import { type Bucket, type Bus, type Mirror, mirrorBucket, openBucket } from '@switchyard/bus';
import {
  type ComputerPlacement,
  type KeyRecord,
  keyRecordKey,
  type OrgRecord,
  placementKey,
} from '@switchyard/contracts';
import { withTimeout } from '@switchyard/service';

/** Time limit for reading all records: a watch whose link was cut may never end. */
const OPEN_MS_MAX = 30_000;

export interface AccountRecords {
  /** The buckets themselves; the copies in memory may lag for a moment. */
  readonly orgs: Bucket<OrgRecord>;
  readonly keys: Bucket<KeyRecord>;
  /** Null for an org that has no record, or was created a moment ago. */
  orgRecord(org: string): OrgRecord | null;
  /** Null for a key that was deleted or created a moment ago. */
  keyRecord(org: string, keyId: string): KeyRecord | null;
  /**
   * Resolves when memory has the records of an org and of keys, or they do not exist. Waits when one is missing, or when
   * memory may be stale.
   * @throws ServiceError `service_unavailable` when memory does not catch up: a limit may be missing or outdated
   */
  require(org: string, keyIds: readonly string[]): Promise<void>;
  /** Null: control placed no such computer. @throws ServiceError `service_unavailable` */
  placement(org: string, computer: string): ComputerPlacement | null | Promise<ComputerPlacement | null>;
  close(): void;
}

/**
 * Opens the records within a time limit. Whatever opens later is closed at once, so nothing leaks.
 * @param withinMs milliseconds
 * @throws ServiceError `service_unavailable`, and the errors of JetStream, while it is unavailable; Error on timeout
 */
export function openRecords(bus: Bus, withinMs = OPEN_MS_MAX): Promise<AccountRecords> {
  const late = () => new Error(`the records of orgs and keys were not read within ${withinMs} ms`);
  return withTimeout(open(bus), withinMs, late, (records) => records.close());
}

async function open(bus: Bus): Promise<AccountRecords> {
  const opened: Mirror<unknown>[] = [];
  const close = () => {
    for (const mirror of opened) mirror.close();
  };
  const open = async <V>(bucket: Bucket<V>): Promise<Mirror<V>> => {
    const mirror = await mirrorBucket(bus, bucket);
    opened.push(mirror as Mirror<unknown>);
    return mirror;
  };
  try {
    const orgs = await openBucket(bus, 'orgs');
    const orgRecords = await open(orgs);
    const keys = await openBucket(bus, 'keys');
    const keyRecords = await open(keys);
    const placements = await open(await openBucket(bus, 'computer-placements'));
    return {
      ...{ orgs, keys },
      orgRecord: (org) => orgRecords.peek(org),
      keyRecord: (org, id) => keyRecords.peek(keyRecordKey(org, id)),
      require: async (org, keyIds) => {
        const keysInBucket = keyIds.map((id) => keyRecordKey(org, id));
        await Promise.all([requireIn(orgRecords, [org]), requireIn(keyRecords, keysInBucket)]);
      },
      placement: (org, computer) => {
        const key = placementKey(org, computer);
        return placements.peek(key) ?? placements.lookup(key); // a placement never changes
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

type Known = Pick<Mirror<unknown>, 'fresh' | 'peek' | 'caughtUp'>;

async function requireIn(records: Known, keys: readonly string[]): Promise<void> {
  if (records.fresh && keys.every((key) => records.peek(key) !== null)) return;
  await records.caughtUp();
}
