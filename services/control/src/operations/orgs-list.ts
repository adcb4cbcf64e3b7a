import {
  LIST_LIMIT_DEFAULT,
  type OperationRequest,
  type OperationResponse,
  toOrgObject,
} from '@switchyard/contracts';
import type { OrgDeps } from '../orgs/org-records.ts';

/** Time for the mirror to catch up with recent writes. */
const CAUGHT_UP_MS_MAX = 500;

/** Lists the orgs by id. */
export function listOrgs({ knownOrgs }: Pick<OrgDeps, 'knownOrgs'>) {
  return async ({
    query: { limit = LIST_LIMIT_DEFAULT, cursor },
  }: OperationRequest<'orgs.list'>): Promise<OperationResponse<'orgs.list'>> => {
    await knownOrgs.caughtUp(CAUGHT_UP_MS_MAX);
    const left = knownOrgs
      .entries()
      .map(([, record]) => record)
      .filter(({ id }) => cursor === undefined || id > cursor)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const data = left.slice(0, limit).map(toOrgObject);
    const has_more = left.length > limit;
    return { object: 'list', data, has_more, next_cursor: has_more ? (data.at(-1)?.id ?? null) : null };
  };
}
