import {
  afterOf,
  limitOf,
  type OperationRequest,
  type OperationResponse,
  pageOf,
  toOrgObject,
} from '@switchyard/contracts';
import type { OrgDeps } from '../orgs/org-records.ts';

/** Time for the mirror to catch up with recent writes. */
const CAUGHT_UP_MS_MAX = 500;

/** Lists the orgs by id. */
export function listOrgs({ knownOrgs }: Pick<OrgDeps, 'knownOrgs'>) {
  return async ({ query }: OperationRequest<'orgs.list'>): Promise<OperationResponse<'orgs.list'>> => {
    const [after, limit] = [afterOf(query), limitOf(query)];
    await knownOrgs.caughtUp(CAUGHT_UP_MS_MAX);
    const left = knownOrgs
      .entries()
      .map(([, record]) => record)
      .filter(({ id }) => after === undefined || id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    return pageOf(left.slice(0, limit).map(toOrgObject), left.length > limit, ({ id }) => id);
  };
}
