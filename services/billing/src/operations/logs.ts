// logs.list, logs.get: the log of an org.
import {
  type LogEntry,
  type OperationRequest,
  type OperationResponse,
  pageOf,
  ServiceError,
  tagsOfPairs,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { catchUpLogs } from '../catch-up.ts';
import type { BillingDeps } from '../register.ts';
import type { LogRow } from '../store/documents.ts';
import { findCharge } from '../store/find-charge.ts';
import { readLogPage } from '../store/log-page.ts';
import { readQuantities } from '../store/quantities.ts';

/** The log, newest first, page by page. */
export async function logsList(
  { org, query }: OperationRequest<'logs.list'>,
  deps: BillingDeps,
): Promise<OperationResponse<'logs.list'>> {
  await catchUpLogs(deps);
  const { rows, hasMore } = await readLogPage(deps.store, org, query);
  return pageOf(rows.map(toLogEntry), hasMore, ({ id }) => id);
}

/**
 * One line of the log.
 * @throws ServiceError `log_not_found`, also for a line of another org
 */
export async function logsGet(
  { org, id }: OperationRequest<'logs.get'>,
  deps: BillingDeps,
): Promise<OperationResponse<'logs.get'>> {
  await catchUpLogs(deps);
  const row = await deps.store.logs.findOne({ _id: id, org });
  if (!row) throw await notFound(deps, org, id);
  return toLogEntry(row);
}

/** The error for a missing line. A charge whose line was removed by retention is still in the ledger. */
async function notFound({ store }: BillingDeps, org: string, id: string): Promise<ServiceError> {
  const name = JSON.stringify(id);
  const charge = await findCharge(store, org, id);
  const message = charge
    ? `the log of ${name} was removed for its age; its charge is in the ledger, and in Usage at ${charge.at.toISOString()}`
    : `there is no log of ${name}`;
  return new ServiceError('log_not_found', message);
}

function toLogEntry(row: LogRow): LogEntry {
  const { kind, status, http_status, error_code, method, path, type, model, maker } = row;
  const { dialect, requested_model, stream, basis, latency_ms, first_byte_ms, attempts } = row;
  return {
    object: 'log',
    id: row._id,
    at: row.at.toISOString(),
    ...{ kind, status, http_status, error_code },
    key_id: row.key,
    ...{ method, path, type, dialect, requested_model, model, maker },
    computer_id: row.computer,
    stream,
    cost: dollarsToJson(row.cost),
    basis,
    quantities: readQuantities(row.quantities),
    ...{ latency_ms, first_byte_ms, attempts },
    tags: tagsOfPairs(row.tags ?? []),
    client_request_id: row.client_request_id ?? null,
    traceparent: row.traceparent ?? null,
    correction: row.correction ?? null,
  };
}
