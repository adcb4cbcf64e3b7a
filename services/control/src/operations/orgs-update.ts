// orgs.update: name, payment, monthly limit, rate limits, mark-up and status of an org. Omitted fields stay unchanged.
import {
  changeRateLimits,
  eventIds,
  makeEvent,
  type OperationRequest,
  type OperationResponse,
  type OrgRecord,
  toMarkup,
  toOrgObject,
  type UpdateOrgRequest,
} from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import { requirePayable } from '../orgs/org-billing.ts';
import { changeOrg, EVENT_SOURCE } from '../orgs/org-records.ts';
import { type OrgStatusDeps, restored, statusChanged, suspended } from '../orgs/org-status.ts';

/**
 * Publishes `account.updated` when payment or limit were given, and `org.suspended` or `org.restored` when the status
 * changed.
 * @throws ServiceError `org_not_found`, `invalid_request`
 */
export function updateOrg(deps: OrgStatusDeps) {
  return async ({
    key_id: by,
    id,
    body,
  }: OperationRequest<'orgs.update'>): Promise<OperationResponse<'orgs.update'>> => {
    const change = await changeOrg(deps, id, (record) => changed(record, body, deps.clock.now()));
    const { record, revision } = change;
    if (body.billing !== undefined || body.monthly_limit !== undefined)
      await deps.events.publish(accountUpdated(record, revision, by));
    await statusChanged(deps, change, by);
    return toOrgObject(record);
  };
}

function changed(before: OrgRecord, body: UpdateOrgRequest, now: number): OrgRecord {
  const { name = before.name, billing = before.billing, monthly_limit = before.monthly_limit } = body;
  requirePayable({ billing, monthly_limit: body.monthly_limit });
  const limits = changeRateLimits(before.limits, body.limits);
  const { markup_percent: markupBefore, ...rest } = before;
  const markup = toMarkup(body.markup_percent ?? markupBefore);
  const record: OrgRecord = { ...rest, name, billing, monthly_limit, limits, ...markup };
  if (body.status === 'suspended') return suspended(record, now, before.removed_at);
  return body.status === 'active' ? restored(record, now) : record;
}

function accountUpdated(
  { id: org, billing, monthly_limit, updated_at }: OrgRecord,
  revision: number,
  by: string,
) {
  return makeEvent({
    name: 'account.updated',
    id: eventIds.accountUpdated(org, revision),
    source: EVENT_SOURCE,
    time: new Date(updated_at),
    data: {
      ...{ org, by_key_id: by, billing },
      monthly_limit_nano: monthly_limit === null ? null : parseDollars(monthly_limit).toString(),
    },
  });
}
