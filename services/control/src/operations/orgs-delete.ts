import {
  DELETED_ORG_DAYS,
  type OperationRequest,
  type OperationResponse,
  toOrgObject,
} from '@switchyard/contracts';
import { type Asked, actingOf } from '../changes/administered.ts';
import { changeOrg } from '../orgs/org-records.ts';
import { type OrgStatusDeps, statusEvents, stopIfSuspended, suspended } from '../orgs/org-status.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * Suspends an org at once and has its data removed after DELETED_ORG_DAYS. A repeat keeps the date of the first call.
 * @throws ServiceError `org_not_found`; `invalid_request` for the operator's own org
 */
export function deleteOrg(deps: OrgStatusDeps) {
  return async (
    { id, ...caller }: OperationRequest<'orgs.delete'>,
    asked: Asked,
  ): Promise<OperationResponse<'orgs.delete'>> => {
    const now = deps.clock.now();
    const removedAt = new Date(now + DELETED_ORG_DAYS * DAY_MS).toISOString();
    const by = actingOf(caller, asked);
    const record = await changeOrg(deps, id, {
      change: (before) => suspended(before, now, before.removed_at ?? removedAt),
      eventsOf: (change) => statusEvents(change, { by, now }),
    });
    stopIfSuspended(deps.computers, record);
    return toOrgObject(record);
  };
}
