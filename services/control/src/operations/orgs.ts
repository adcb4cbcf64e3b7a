// Operations on orgs, for their operator; creating and changing one have files of their own.
import type { Handlers } from '@switchyard/bus';
import { afterOf, DELETED_ORG_DAYS, limitOf, pageOf, toOrgObject } from '@switchyard/contracts';
import { actingOf } from '../changes/administered.ts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import { changeOrg, findOrg } from '../orgs/org-records.ts';
import { statusEvents, stopIfSuspended, suspended } from '../orgs/org-status.ts';
import { createOrg, type OrgCreateDeps } from './orgs-create.ts';
import { createOrgKey } from './orgs-keys-create.ts';
import { updateOrg } from './orgs-update.ts';

const DAY_MS = 24 * 3_600_000;

export function orgHandlers(deps: OrgCreateDeps & { readonly computers: ComputerOperations }) {
  const { orgs, knownOrgs, computers, clock } = deps;
  return {
    'orgs.create': createOrg(deps),

    /** Lists the orgs by id. */
    'orgs.list': async ({ query }) => {
      const [after, limit] = [afterOf(query), limitOf(query)];
      await knownOrgs.caughtUp();
      const left = knownOrgs
        .entries()
        .map(({ value }) => value)
        .filter(({ id }) => after === undefined || id > after)
        .sort((a, b) => (a.id < b.id ? -1 : 1));
      return pageOf(left.slice(0, limit).map(toOrgObject), left.length > limit, ({ id }) => id);
    },

    'orgs.get': async ({ id }) => toOrgObject((await findOrg(orgs, id)).value),

    'orgs.update': updateOrg(deps),

    /**
     * Suspends an org at once and has its data removed after DELETED_ORG_DAYS. A repeat keeps the date of the first
     * call.
     * @throws ServiceError `org_not_found`; `invalid_request` for the operator's own org
     */
    'orgs.delete': async ({ id, ...caller }, context) => {
      const now = clock.now();
      const removedAt = new Date(now + DELETED_ORG_DAYS * DAY_MS).toISOString();
      const by = actingOf(caller, context);
      const record = await changeOrg(deps, id, {
        change: (before) => suspended(before, now, before.removed_at ?? removedAt),
        eventsOf: (change) => statusEvents(change, { by, now }),
      });
      stopIfSuspended(computers, record);
      return toOrgObject(record);
    },

    'orgs.keys.create': createOrgKey(deps),
  } satisfies Handlers;
}
