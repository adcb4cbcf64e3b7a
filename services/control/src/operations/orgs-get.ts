import { type OperationRequest, type OperationResponse, toOrgObject } from '@switchyard/contracts';
import { findOrg, type OrgDeps } from '../orgs/org-records.ts';

/** @throws ServiceError `org_not_found` */
export function getOrg({ orgs }: Pick<OrgDeps, 'orgs'>) {
  return async ({ id }: OperationRequest<'orgs.get'>): Promise<OperationResponse<'orgs.get'>> =>
    toOrgObject((await findOrg(orgs, id)).value);
}
