// The audit log: who created, changed and revoked what. GET /v1/audit-log; billing keeps its lines, one for each event.
import { z } from 'zod';
import { actor, changes } from './events/administered.ts';
import type { EventName } from './events.ts';
import { listOf, listQuery } from './lists.ts';
import { timeRange } from './usage.ts';

/** Days that a line is kept: a year, plus time to audit that year. */
export const AUDIT_LOG_DAYS = 400;
const FILTER_LENGTH_MAX = 128;

/** The events in the audit log. `account.updated` is left out: `org.updated` says the same and more. */
export const AUDITED_EVENTS = [
  ...(['org.created', 'org.updated', 'org.suspended', 'org.restored', 'org.removed'] as const),
  ...(['key.created', 'key.updated', 'key.rotated', 'key.revoked'] as const),
  ...(['webhook.created', 'webhook.updated', 'webhook.rotated', 'webhook.deleted'] as const),
  ...(['signing_secret.rotated', 'provider.updated', 'provider.deleted'] as const),
  ...(['credit.granted', 'charge.refunded'] as const),
] as const satisfies readonly EventName[];
export type AuditedEvent = (typeof AUDITED_EVENTS)[number];

const filter = z.string().min(1).max(FILTER_LENGTH_MAX).optional();
const auditType = z.enum(AUDITED_EVENTS);

export const auditEntry = z.object({
  object: z.literal('audit_entry').describe('Always audit_entry'),
  id: z.string().describe('Id of the event'),
  type: auditType.describe('What happened: the name of the event'),
  at: z.iso.datetime().describe('When'),
  org: z.string().describe('The org that was changed'),
  target: z
    .string()
    .describe('What was changed: the id of a key, webhook, credit, charge or org, or the name of a maker'),
  actor: actor
    .nullable()
    .describe('The API key that did it, and its org; null: the installation itself did it'),
  request_id: z.string().nullable().describe('X-Request-Id of its request; null: not known'),
  changes: changes.describe('The changed fields with their values before and after; never a secret'),
  markup_percent: z
    .string()
    .optional()
    .describe('The new mark-up of the org, if that was changed; only an operator sees it'),
});
export type AuditEntry = z.infer<typeof auditEntry>;
export const auditLog = listOf(auditEntry);

export const auditLogQuery = listQuery.extend({
  org: filter.describe('Only this org, by its id; default: all orgs for an operator, else your own'),
  actor: filter.describe('Only changes by this key, by its id'),
  type: auditType.optional().describe('Only this event, such as key.revoked'),
  from: timeRange.from.describe('From this moment on; default: the beginning'),
  to: timeRange.to,
});
export type AuditLogQuery = z.infer<typeof auditLogQuery>;
