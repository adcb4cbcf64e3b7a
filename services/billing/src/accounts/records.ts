// The records of orgs and keys, from which limits are made. All partitions of a process share one copy in memory.
import { type Bucket, type Bus, type Mirror, mirrorBucket, openBucket } from '@switchyard/bus';
import type { KeyRecord, OrgRecord } from '@switchyard/contracts';
import { inTime } from '@switchyard/service';
import { KeysById } from './keys-by-id.ts';

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
  close(): void;
}

/**
 * Opens the records within a time limit. Whatever opens later is closed at once, so nothing leaks.
 * @param withinMs milliseconds
 * @throws ServiceError `service_unavailable`, and the errors of JetStream, while it is unavailable; Error on timeout
 */
export function openRecords(bus: Bus, withinMs = OPEN_MS_MAX): Promise<AccountRecords> {
  const late = () => new Error(`the records of orgs and keys were not read within ${withinMs} ms`);
  return inTime(open(bus), withinMs, late, (records) => records.close());
}

async function open(bus: Bus): Promise<AccountRecords> {
  const orgs = await openBucket(bus, 'orgs');
  const mirror = await mirrorBucket(bus, orgs, { tick: false });
  const keys = await openKeys(bus).catch((error: unknown) => {
    mirror.close();
    throw error;
  });
  const byId = new KeysById(keys);
  return {
    orgs,
    orgRecord: (org) => mirror.peek(org),
    keyRecord: (org, id) => byId.get(org, id),
    keysCaughtUp: () => keys.caughtUp(CAUGHT_UP_MS_MAX),
    close() {
      mirror.close();
      keys.close();
    },
  };
}

async function openKeys(bus: Bus): Promise<Mirror<KeyRecord>> {
  return mirrorBucket(bus, await openBucket(bus, 'keys'), { tick: false });
}
