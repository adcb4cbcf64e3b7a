import {
  DELETED_ORG_DAYS,
  type OperationRequest,
  type OperationResponse,
  toOrgObject,
} from '@switchyard/contracts';
import { changeOrg } from '../orgs/org-records.ts';
import { type OrgStatusDeps, statusChanged, suspended } from '../orgs/org-status.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * Suspends an org at once and has its data removed after DELETED_ORG_DAYS. A repeat keeps the date of the first call.
 * @throws ServiceError `org_not_found`; `invalid_request` for the operator's own org
 */
export function deleteOrg(deps: OrgStatusDeps) {
  return async ({
    key_id: by,
    id,
  }: OperationRequest<'orgs.delete'>): Promise<OperationResponse<'orgs.delete'>> => {
    const now = deps.clock.now();
    const removedAt = new Date(now + DELETED_ORG_DAYS * DAY_MS).toISOString();
    const change = await changeOrg(deps, id, (record) =>
      suspended(record, now, record.removed_at ?? removedAt),
    );
    await statusChanged(deps, change, by);
    return toOrgObject(change.record);
  };
}
