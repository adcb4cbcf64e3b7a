// Orgs: the tenants of an installation. An operator creates, limits, suspends and deletes them.
import { z } from 'zod';
import { billingMode, dollarAmount, type OrgRecord } from './accounts.ts';
import { idOf } from './ids.ts';
import { listOf } from './lists.ts';
import { markupPercent } from './markup.ts';
import { NO_RATE_LIMITS, rateLimits, rateLimitsChange } from './rate-limits.ts';

const ORG_NAME_LENGTH_MAX = 100;
export const ORGS_MAX = 10_000;
/** Days for which the data of a deleted org are kept. */
export const DELETED_ORG_DAYS = 30;

const ORG_STATUSES = ['active', 'suspended'] as const;
const orgStatus = z.enum(ORG_STATUSES);

const name = z.string().min(1).max(ORG_NAME_LENGTH_MAX).describe('Name of the org, for people');
const MONTHLY_LIMIT = 'US dollars that a postpaid org may spend in a UTC month; null: no limit';
const LIMITS = 'Rate limits of all its keys together; null: the installation’s default, if it has one';
const monthlyLimit = dollarAmount.nullable().describe(MONTHLY_LIMIT);

export const createOrgRequest = z
  .strictObject({
    name,
    billing: billingMode.default('postpaid').describe('prepaid: spends credits; postpaid: pays afterwards'),
    monthly_limit: dollarAmount.nullish().describe(MONTHLY_LIMIT),
    credits: dollarAmount.nullish().describe('Initial credits in US dollars, at most 9 decimals'),
    limits: rateLimitsChange.optional().describe(LIMITS),
    markup_percent: markupPercent.optional(),
  })
  .meta({
    examples: [
      { name: 'Acme', billing: 'prepaid', credits: 25 },
      { name: 'Umbrella', monthly_limit: 250, limits: { requests_per_minute: 600 } },
    ],
  });
export type CreateOrgRequest = z.infer<typeof createOrgRequest>;

export const updateOrgRequest = z
  .strictObject({
    name: name.optional(),
    billing: billingMode.optional().describe('prepaid: spends credits; postpaid: pays afterwards'),
    monthly_limit: monthlyLimit.optional(),
    limits: rateLimitsChange.optional().describe(`${LIMITS}. Those left out stay as they are`),
    markup_percent: markupPercent.optional(),
    status: orgStatus
      .optional()
      .describe('suspended: its keys are refused and its computers stopped; active: also undoes a deletion'),
  })
  .meta({ examples: [{ monthly_limit: 500 }, { markup_percent: '12.5' }, { status: 'suspended' }] });
export type UpdateOrgRequest = z.infer<typeof updateOrgRequest>;

export const orgObject = z.object({
  id: idOf('org').describe('Id of the org'),
  object: z.literal('org').describe('Always org'),
  name,
  status: orgStatus.describe('suspended: its keys are refused and its computers stopped'),
  billing: billingMode.describe('How it pays'),
  monthly_limit: monthlyLimit,
  limits: rateLimits.describe(LIMITS),
  markup_percent: z.string().describe('Percent on top of the price list, as a plain decimal; 0: none'),
  created_at: z.iso.datetime().describe('When it was made'),
  suspended_at: z.iso.datetime().nullable().describe('When it was suspended; null: it is not'),
  removed_at: z.iso
    .datetime()
    .nullable()
    .describe('When the data of a deleted org are removed; null: it was not deleted'),
});
export type OrgObject = z.infer<typeof orgObject>;
export const orgList = listOf(orgObject);

export const createdOrg = orgObject.extend({
  key: z.string().describe('The first API key of the org, shown this once'),
  key_id: idOf('key').describe('Id of that key'),
});
export type CreatedOrg = z.infer<typeof createdOrg>;

export function toOrgObject(record: OrgRecord): OrgObject {
  const { id, name, billing, monthly_limit, limits, created_at, suspended_at, removed_at } = record;
  const { markup_percent = '0' } = record;
  const status = suspended_at === null ? 'active' : 'suspended';
  return {
    ...{ id, object: 'org', name, status, billing, monthly_limit, limits: limits ?? NO_RATE_LIMITS },
    ...{ markup_percent, created_at, suspended_at, removed_at },
  };
}
