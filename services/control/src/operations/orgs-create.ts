// orgs.create: a new tenant with its first API key and initial credits.
import { type Bus, request } from '@switchyard/bus';
import {
  type CreatedOrg,
  type CreateOrgRequest,
  changeRateLimits,
  eventIds,
  newId,
  type OperationRequest,
  ORGS_MAX,
  type OrgRecord,
  ServiceError,
  TENANT_PERMISSIONS,
  toMarkup,
  toOrgObject,
} from '@switchyard/contracts';
import {
  type Acting,
  actingOf,
  administered,
  controlEvent,
  type RequestContext,
} from '../changes/administered.ts';
import { createWithEvents, deleteWithEvents } from '../changes/write.ts';
import { requirePayable } from '../orgs/org-billing.ts';
import type { OrgDeps } from '../orgs/org-records.ts';
import type { KeyOperations } from './keys-create.ts';
import { createOrgKey } from './orgs-keys-create.ts';

export interface OrgCreateDeps extends OrgDeps {
  readonly bus: Bus;
  readonly keys: KeyOperations;
}

/** Covers booking the credits. */
const CREDITS_TIMEOUT_MS = 15_000;
const FIRST_KEY_NAME = 'first key';

/** @throws ServiceError `invalid_request`; `invalid_api_key`; `service_unavailable`; no org is left then */
export function createOrg(deps: OrgCreateDeps) {
  return async (
    { org: own, key_id, body }: OperationRequest<'orgs.create'>,
    context: RequestContext,
  ): Promise<CreatedOrg> => {
    const now = deps.clock.now();
    const record = recordOf(body, now);
    const { id } = record;
    requirePayable(record);
    if (deps.knownOrgs.entries().length >= ORGS_MAX)
      throw new ServiceError('invalid_request', `An installation has at most ${ORGS_MAX} orgs. Delete some.`);
    const caller = { org: own, key_id };
    const orgs = { bucket: deps.orgs, events: deps.events };
    const by = actingOf(caller, context);
    await createWithEvents(orgs, id, record, [created(record, by, now)]);
    try {
      await grant(deps, { id, key_id, credits: body.credits });
      const first = { name: FIRST_KEY_NAME, permissions: TENANT_PERMISSIONS };
      const key = await createOrgKey(deps)({ ...caller, id, body: first }, context);
      return { ...toOrgObject(record), key: key.key, key_id: key.id };
    } catch (error) {
      const removed = {
        id: eventIds.org(id, 'removed'),
        now,
        data: { org: id, ...administered(by, null, null) },
      };
      await deleteWithEvents(orgs, id, [controlEvent('org.removed', removed)]);
      throw error;
    }
  };
}

interface Grant {
  readonly id: string;
  readonly key_id: string;
  readonly credits: number | null | undefined;
}

async function grant({ bus }: OrgCreateDeps, { id, key_id, credits }: Grant): Promise<void> {
  if (!credits) return;
  const body = { amount: credits, reason: 'initial credits' };
  await request(bus, 'credits.create', { org: id, key_id, body }, { timeoutMs: CREDITS_TIMEOUT_MS });
}

function created(record: OrgRecord, by: Acting, now: number) {
  const { id: org, markup_percent: markup } = record;
  const data = { org, by_key_id: by.key_id, ...administered(by, null, toOrgObject(record)) };
  return controlEvent('org.created', { id: eventIds.org(org, 'created'), now, markup, data });
}

function recordOf(
  { name, billing, monthly_limit, limits, markup_percent }: CreateOrgRequest,
  now: number,
): OrgRecord {
  const at = new Date(now).toISOString();
  return {
    ...{ id: newId('org'), name, billing, monthly_limit: monthly_limit ?? null },
    limits: changeRateLimits(null, limits),
    ...toMarkup(markup_percent),
    ...{ created_at: at, updated_at: at, suspended_at: null, removed_at: null },
  };
}
