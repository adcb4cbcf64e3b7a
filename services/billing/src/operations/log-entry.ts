// A log row as the contract shows it.
import type { LogEntry } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import type { LogRow } from '../store/documents.ts';
import { readQuantities } from '../store/quantities.ts';

export function toLogEntry(row: LogRow): LogEntry {
  const { kind, status, http_status, error_code, method, path, type, requested_model, model, maker } = row;
  const { stream, basis, latency_ms, first_byte_ms, attempts } = row;
  return {
    object: 'log',
    id: row._id,
    at: row.at.toISOString(),
    ...{ kind, status, http_status, error_code },
    key_id: row.key,
    ...{ method, path, type, requested_model, model, maker },
    computer_id: row.computer,
    stream,
    cost: dollarsToJson(row.cost),
    basis,
    quantities: readQuantities(row.quantities),
    ...{ latency_ms, first_byte_ms, attempts },
    correction: row.correction ?? null,
  };
}
