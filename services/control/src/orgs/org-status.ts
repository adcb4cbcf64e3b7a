// Suspends, deletes and restores orgs, and publishes what changed. Edges watch the records: they refuse the keys of a
// suspended org and end what is open under them.
import { DEFAULT_ORG, eventIds, makeEvent, type OrgRecord, ServiceError } from '@switchyard/contracts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import { type ChangedOrg, EVENT_SOURCE, type OrgDeps } from './org-records.ts';
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

/**
 * Publishes `org.suspended` or `org.restored` if the change was one, and begins to stop the computers of a suspended
 * org; the sweep completes it.
 */
export async function statusChanged(
  { events, clock, computers }: OrgStatusDeps,
  { before, record, revision }: ChangedOrg,
  by: string,
): Promise<void> {
  const { id: org, suspended_at, removed_at } = record;
  if (suspended_at !== null)
    void stopComputersOf(computers, org).catch((error: unknown) =>
      computers.logger.warn({ err: error, org }, 'the computers of a suspended org were not stopped yet'),
    );
  if (before.suspended_at === suspended_at && before.removed_at === removed_at) return;
  const head = { source: EVENT_SOURCE, time: new Date(clock.now()) };
  const data = { org, by_key_id: by };
  await events.publish(
    suspended_at === null
      ? makeEvent({
          ...{ name: 'org.restored', id: eventIds.orgStatus(org, 'restored', revision) },
          ...{ ...head, data },
        })
      : makeEvent({
          ...{ name: 'org.suspended', id: eventIds.orgStatus(org, 'suspended', revision) },
          ...{ ...head, data: { ...data, removed_at } },
        }),
  );
}
