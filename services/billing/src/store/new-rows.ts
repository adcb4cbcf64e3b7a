// Blank rows of the ledger and the log, to fill with the fields of an event. Pure.
import type { LogRow, UnnumberedRow } from './documents.ts';

const NO_DIMENSIONS = { key: null, type: null, model: null, maker: null, computer: null } as const;

type Required<Row, Name extends keyof Row> = Pick<Row, Name> & Partial<Row>;

/** The dimensions of a charge, for the rows that correct it. */
export function dimensionsOf({ org, key, type, model, maker, computer, status, tags }: UnnumberedRow) {
  return {
    ...{ org, key, type, model, maker, computer },
    ...(status ? { status } : {}),
    ...(tags ? { tags } : {}),
  };
}

/** A ledger row of zero amounts, overridden by the fields. */
export function newLedgerRow(fields: Required<UnnumberedRow, '_id' | 'kind' | 'at' | 'org'>): UnnumberedRow {
  return { ...NO_DIMENSIONS, calls: 0n, cost: 0n, quantities: {}, ...fields };
}

/** A log row of a success that is no HTTP call, overridden by the fields. */
export function newLogRow(fields: Required<LogRow, '_id' | 'source' | 'kind' | 'at' | 'org'>): LogRow {
  return {
    ...NO_DIMENSIONS,
    status: 'ok',
    http_status: null,
    error_code: null,
    method: null,
    path: null,
    dialect: null,
    requested_model: null,
    models: [],
    stream: false,
    cost: 0n,
    basis: null,
    quantities: {},
    latency_ms: null,
    first_byte_ms: null,
    attempts: [],
    ...fields,
  };
}
