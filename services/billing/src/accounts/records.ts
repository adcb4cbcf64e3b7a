// The records of orgs and keys, of which limits are made: in memory once for all partitions of a process.
import { type Bucket, type Bus, mirrorBucket, openBucket } from '@switchyard/bus';
import type { KeyRecord, OrgRecord } from '@switchyard/contracts';
import { KeysById } from './keys-by-id.ts';

export interface AccountRecords {
  /** The bucket itself, where memory may be a moment late. */
  readonly orgs: Bucket<OrgRecord>;
  /** Null for an org that has no record. */
  orgRecord(org: string): OrgRecord | null;
  /** Null for a key that is gone. */
  keyRecord(org: string, keyId: string): KeyRecord | null;
  close(): void;
}

/** @throws ServiceError `service_unavailable`, and the errors of JetStream, while it is away */
export async function openRecords(bus: Bus): Promise<AccountRecords> {
  const orgs = await openBucket(bus, 'orgs');
  const mirror = await mirrorBucket(bus, orgs, { tick: false });
  const keys = await mirrorBucket(bus, await openBucket(bus, 'keys'), { tick: false });
  const byId = new KeysById(keys);
  return {
    orgs,
    orgRecord: (org) => mirror.peek(org),
    keyRecord: (org, id) => byId.get(org, id),
    close() {
      mirror.close();
      keys.close();
    },
  };
}
