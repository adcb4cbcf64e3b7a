// Suspends, deletes and restores orgs, and says what changed. Edges watch the records: they refuse the keys of a
// suspended org and end its open requests.
import {
  DEFAULT_ORG,
  type Event,
  eventIds,
  type OrgRecord,
  ServiceError,
  toOrgObject,
} from '@switchyard/contracts';
import { type Acting, administered, controlEvent } from '../changes/administered.ts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import type { ChangedOrg, OrgDeps } from './org-records.ts';
import { stopComputersOf } from './stop-computers.ts';

/** @throws ServiceError `invalid_request` for the operator's own org, whose keys could not undo it */
export function suspended(record: OrgRecord, now: number, removedAt: string | null): OrgRecord {
  if (record.id === DEFAULT_ORG)
    throw new ServiceError(
      'invalid_request',
      'The operator’s own org cannot be suspended or deleted. Name another org.',
      { param: 'id' },
    );
  const suspended_at = record.suspended_at ?? new Date(now).toISOString();
  return { ...record, suspended_at, removed_at: removedAt };
}

/** Whether the data of a deleted org are removed from now on. */
export function isRemovalDue({ removed_at }: OrgRecord, now: number): boolean {
  return removed_at !== null && Date.parse(removed_at) <= now;
}

/** @throws ServiceError `org_not_found` for an org whose data are being removed */
export function restored(record: OrgRecord, now: number): OrgRecord {
  if (isRemovalDue(record, now))
    throw new ServiceError('org_not_found', `The data of ${record.id} are being removed. Make another org.`, {
      param: 'id',
    });
  return { ...record, suspended_at: null, removed_at: null };
}

export interface OrgStatusDeps extends OrgDeps {
  readonly computers: ComputerOperations;
}

/** `org.suspended` or `org.restored`, if the change was one. */
export function statusEvents(
  { before, record, revision }: ChangedOrg,
  { by, now }: { readonly by: Acting; readonly now: number },
): Event[] {
  const { id: org, suspended_at, removed_at } = record;
  if (before.suspended_at === suspended_at && before.removed_at === removed_at) return [];
  const data = { org, by_key_id: by.key_id, ...administered(by, statusOf(before), statusOf(record)) };
  const id = (change: 'suspended' | 'restored') => eventIds.orgChanged(org, change, revision);
  if (suspended_at === null) return [controlEvent('org.restored', { id: id('restored'), now, data })];
  const suspension = { ...data, removed_at };
  return [controlEvent('org.suspended', { id: id('suspended'), now, data: suspension })];
}

function statusOf(record: OrgRecord) {
  const { status, suspended_at, removed_at } = toOrgObject(record);
  return { status, suspended_at, removed_at };
}

/** Begins to stop the computers of an org that is suspended; the sweep completes it. */
export function stopIfSuspended(computers: ComputerOperations, { id: org, suspended_at }: OrgRecord): void {
  if (suspended_at === null) return;
  void stopComputersOf(computers, org).catch((error: unknown) =>
    computers.logger.warn({ err: error, org }, 'the computers of a suspended org were not stopped yet'),
  );
}
