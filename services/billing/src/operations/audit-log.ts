// audit-log.list: who changed what, newest first.
import {
  type AuditEntry,
  type AuditLogQuery,
  type OperationRequest,
  type OperationResponse,
  pageOf,
} from '@switchyard/contracts';
import type { Filter } from 'mongodb';
import { catchUp, catchUpAll } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import type { AuditRow } from '../store/documents.ts';
import { timeRange } from '../store/log-page.ts';
import { readPage } from '../store/page.ts';

/** @throws ServiceError `invalid_request` for a reversed range, or a cursor that the filter does not find */
export async function auditLogList(
  { org, all_orgs, query }: OperationRequest<'audit-log.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'audit-log.list'>> {
  await (all_orgs ? catchUpAll(deps) : catchUp(deps));
  const filter = filterOf(query, all_orgs ? query.org : org);
  const { rows, hasMore } = await readPage(deps.store.auditLog, { filter, scope: filter }, query);
  return pageOf(
    rows.map((row) => toAuditEntry(row, all_orgs)),
    hasMore,
    ({ id }) => id,
  );
}

function filterOf(query: AuditLogQuery, org: string | undefined): Filter<AuditRow> {
  const at = timeRange(query);
  return {
    ...(org === undefined ? {} : { org }),
    ...(query.actor === undefined ? {} : { 'actor.key_id': query.actor }),
    ...(query.type === undefined ? {} : { type: query.type }),
    ...(at ? { at } : {}),
  };
}

function toAuditEntry(
  { _id: id, at, changes, markup_percent, ...row }: AuditRow,
  forOperator: boolean,
): AuditEntry {
  return {
    object: 'audit_entry',
    ...{ id, type: row.type, at: at.toISOString(), org: row.org, target: row.target, actor: row.actor },
    ...{ request_id: row.request_id, changes: JSON.parse(changes) as AuditEntry['changes'] },
    ...(forOperator && markup_percent !== undefined ? { markup_percent } : {}),
  };
}
