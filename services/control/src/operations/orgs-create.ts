// orgs.create: a new tenant with its first API key, and credits to begin with.
import { type Bus, request } from '@switchyard/bus';
import {
  type CreatedOrg,
  type CreateOrgRequest,
  changeRateLimits,
  eventIds,
  makeEvent,
  newId,
  type OperationRequest,
  ORGS_MAX,
  type OrgRecord,
  ServiceError,
  TENANT_PERMISSIONS,
  toMarkup,
  toOrgObject,
} from '@switchyard/contracts';
import { requirePayable } from '../orgs/org-billing.ts';
import { EVENT_SOURCE, type OrgDeps } from '../orgs/org-records.ts';
import type { KeyOperations } from './keys-create.ts';
import { createOrgKey } from './orgs-keys-create.ts';

export interface OrgCreateDeps extends OrgDeps {
  readonly bus: Bus;
  readonly keys: KeyOperations;
}

/** Covers booking the credits. */
const CREDITS_TIMEOUT_MS = 15_000;
const FIRST_KEY_NAME = 'first key';

/** @throws ServiceError `invalid_request`; `service_unavailable`, and then no org was made */
export function createOrg(deps: OrgCreateDeps) {
  return async ({ org: own, key_id, body }: OperationRequest<'orgs.create'>): Promise<CreatedOrg> => {
    const record = recordOf(body, deps.clock.now());
    const { id } = record;
    requirePayable(record);
    if (deps.knownOrgs.entries().length >= ORGS_MAX)
      throw new ServiceError('invalid_request', `An installation has at most ${ORGS_MAX} orgs. Delete some.`);
    await deps.orgs.create(id, record);
    const caller = { org: own, key_id };
    const key = await begin(deps, { id, key_id, credits: body.credits }).then(
      () =>
        createOrgKey(deps)({
          ...caller,
          id,
          body: { name: FIRST_KEY_NAME, permissions: TENANT_PERMISSIONS },
        }),
      async (error: unknown) => {
        await deps.orgs.delete(id);
        throw error;
      },
    );
    return { ...toOrgObject(record), key: key.key, key_id: key.id };
  };
}

interface Beginning {
  readonly id: string;
  readonly key_id: string;
  readonly credits: number | null | undefined;
}

async function begin({ bus, events, clock }: OrgCreateDeps, { id, key_id, credits }: Beginning) {
  if (credits) {
    const granted = { amount: credits, reason: 'credits to begin with' };
    await request(
      bus,
      'credits.create',
      { org: id, key_id, body: granted },
      { timeoutMs: CREDITS_TIMEOUT_MS },
    );
  }
  await events.publish(
    makeEvent({
      ...{ name: 'org.created', id: eventIds.org(id, 'created'), source: EVENT_SOURCE },
      ...{ time: new Date(clock.now()), data: { org: id, by_key_id: key_id } },
    }),
  );
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
