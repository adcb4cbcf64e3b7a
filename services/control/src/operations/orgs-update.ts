// orgs.update: name, payment, monthly limit, rate limits, mark-up and status of an org. Omitted fields stay unchanged.
import {
  changeRateLimits,
  type Event,
  eventIds,
  type OperationRequest,
  type OperationResponse,
  type OrgRecord,
  toMarkup,
  toOrgObject,
  type UpdateOrgRequest,
} from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import {
  type Acting,
  actingOf,
  administered,
  controlEvent,
  type RequestContext,
} from '../changes/administered.ts';
import { requirePayable } from '../orgs/org-billing.ts';
import { type ChangedOrg, changeOrg } from '../orgs/org-records.ts';
import {
  type OrgStatusDeps,
  restored,
  statusEvents,
  stopIfSuspended,
  suspended,
} from '../orgs/org-status.ts';

/**
 * Publishes `org.updated` for what changed besides the status, `account.updated` when payment or limit were given, and
 * `org.suspended` or `org.restored` when the status changed.
 * @throws ServiceError `org_not_found`, `invalid_request`
 */
export function updateOrg(deps: OrgStatusDeps) {
  return async (
    { id, body, ...caller }: OperationRequest<'orgs.update'>,
    context: RequestContext,
  ): Promise<OperationResponse<'orgs.update'>> => {
    const now = deps.clock.now();
    const by = actingOf(caller, context);
    const isPayment = body.billing !== undefined || body.monthly_limit !== undefined;
    const record = await changeOrg(deps, id, {
      change: (before) => changed(before, body, now),
      eventsOf: (change) => [
        ...orgUpdated(change, by, now),
        ...(isPayment ? [accountUpdated(change, by)] : []),
        ...statusEvents(change, { by, now }),
      ],
    });
    stopIfSuspended(deps.computers, record);
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

/** Everything that the API shows of an org, except its status: that has events of its own. */
function detailsOf(record: OrgRecord) {
  const { status: _status, suspended_at: _suspended, removed_at: _removed, ...details } = toOrgObject(record);
  return details;
}

function orgUpdated({ before, record, revision }: ChangedOrg, by: Acting, now: number): Event[] {
  const what = administered(by, detailsOf(before), detailsOf(record));
  const { id: org, markup_percent = '0' } = record;
  const markup = markup_percent === (before.markup_percent ?? '0') ? undefined : markup_percent;
  if (Object.keys(what.changes).length === 0 && markup === undefined) return [];
  const data = { org, by_key_id: by.key_id, ...what };
  return [
    controlEvent('org.updated', { id: eventIds.orgChanged(org, 'changed', revision), now, markup, data }),
  ];
}

function accountUpdated({ record, revision }: ChangedOrg, by: Acting): Event {
  const { id: org, billing, monthly_limit, updated_at } = record;
  return controlEvent('account.updated', {
    ...{ id: eventIds.accountUpdated(org, revision), now: Date.parse(updated_at) },
    data: {
      ...{ org, by_key_id: by.key_id, billing },
      monthly_limit_nano: monthly_limit === null ? null : parseDollars(monthly_limit).toString(),
    },
  });
}
