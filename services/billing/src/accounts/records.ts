// The records of orgs and keys, of which limits are made: in memory once for all partitions of a process.
import { type Bucket, type Bus, type Mirror, mirrorBucket, openBucket } from '@switchyard/bus';
import type { KeyRecord, OrgRecord } from '@switchyard/contracts';
import { inTime } from '@switchyard/service';
import { KeysById } from './keys-by-id.ts';

/** Reading all records: a watch whose link was cut may never end. */
const OPEN_MS_MAX = 30_000;
/** What was just written is heard of within a millisecond or two; a call is not kept waiting for a watch that is cut. */
const CAUGHT_UP_MS_MAX = 1_000;

export interface AccountRecords {
  /** The bucket itself, where memory may be a moment late. */
  readonly orgs: Bucket<OrgRecord>;
  /** Null for an org that has no record. */
  orgRecord(org: string): OrgRecord | null;
  /** Null for a key that is gone, or was made a moment ago. */
  keyRecord(org: string, keyId: string): KeyRecord | null;
  /** Resolves when memory has the keys that there were when it was called. @throws ServiceError `service_unavailable` */
  keysCaughtUp(): Promise<unknown>;
  close(): void;
}

/**
 * Opens them within a time; what comes later is closed, so that nothing is left open that nobody has.
 * @param withinMs milliseconds
 * @throws ServiceError `service_unavailable`, and the errors of JetStream, while it is away; Error when it takes longer
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
