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
/** A write arrives within a millisecond or two. This bounds the wait of a call when the watch is cut. */
const CAUGHT_UP_MS_MAX = 1_000;

export interface AccountRecords {
  /** The bucket itself; the copy in memory may lag for a moment. */
  readonly orgs: Bucket<OrgRecord>;
  /** Null for an org that has no record. */
  orgRecord(org: string): OrgRecord | null;
  /** Null for a key that was deleted or created a moment ago. */
  keyRecord(org: string, keyId: string): KeyRecord | null;
  /**
   * Resolves when memory has every key that existed at the time of the call. @throws ServiceError `service_unavailable`
   */
  keysCaughtUp(): Promise<unknown>;
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
    const mirror = await mirrorBucket(bus, bucket, { tick: false });
    opened.push(mirror as Mirror<unknown>);
    return mirror;
  };
  try {
    const orgs = await openBucket(bus, 'orgs');
    const orgRecords = await open(orgs);
    const keys = await open(await openBucket(bus, 'keys'));
    const placements = await open(await openBucket(bus, 'computer-placements'));
    return {
      orgs,
      orgRecord: (org) => orgRecords.peek(org),
      keyRecord: (org, id) => keys.peek(keyRecordKey(org, id)),
      keysCaughtUp: () => keys.caughtUp(CAUGHT_UP_MS_MAX),
      placement: (org, computer) => placements.lookup(placementKey(org, computer)),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
