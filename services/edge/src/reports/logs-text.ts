// Logs as text. Each page from billing is written before the next one is requested, so an export of any length takes
// the memory of one page.
import { type Bus, request } from '@switchyard/bus';
import {
  afterOf,
  type KeyRecord,
  LIST_LIMIT_MAX,
  LOG_EXPORT_ROWS_MAX,
  type LogEntry,
  type LogsQuery,
  type Tags,
} from '@switchyard/contracts';
import { type Cell, csvLine } from './csv.ts';
import type { TextFormat } from './row-format.ts';

interface LogsTextOptions {
  readonly bus: Bus;
  readonly key: Pick<KeyRecord, 'id' | 'org'>;
  /** `limit` bounds the whole export; default `LOG_EXPORT_ROWS_MAX`. */
  readonly query: LogsQuery;
  readonly format: TextFormat;
  /** Aborted when the client no longer needs the answer. */
  readonly signal: AbortSignal;
  /** Called at the end with the cursor of the first row that was left out. */
  readonly onMore: (cursor: string) => void;
}

/** Yields pieces of the text. The first one needs the first rows, so that an earlier error is an error answer. */
export async function* logsText(options: LogsTextOptions): AsyncGenerator<Buffer> {
  const { bus, key, query, format, signal, onMore } = options;
  let left = query.limit ?? LOG_EXPORT_ROWS_MAX;
  let after = afterOf(query);
  let head = format === 'csv' ? csvLine(COLUMNS.map(([name]) => name)) : '';
  for (;;) {
    const limit = Math.min(left, LIST_LIMIT_MAX);
    const page = { ...query, limit, ...(after === undefined ? {} : { after }) };
    const { data, next_cursor: next } = await request(
      bus,
      'logs.list',
      { org: key.org, key_id: key.id, query: page },
      { signal },
    );
    const write = format === 'csv' ? csvOf : ndjsonOf;
    yield Buffer.from(head + data.map(write).join(''));
    head = '';
    left -= data.length;
    if (next === null) return;
    if (left <= 0) return onMore(next);
    after = next;
  }
}

function ndjsonOf(entry: LogEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

function csvOf(entry: LogEntry): string {
  return csvLine(COLUMNS.map(([, cell]) => cell(entry)));
}

/** The tags as in the header X-Service-Tags. */
function tagsHeader(tags: Tags): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** Quantities and attempts are JSON, since their names are not known before the last row. */
const COLUMNS: readonly (readonly [string, (entry: LogEntry) => Cell])[] = [
  ['id', ({ id }) => id],
  ['at', ({ at }) => at],
  ['kind', ({ kind }) => kind],
  ['status', ({ status }) => status],
  ['http_status', ({ http_status }) => http_status],
  ['error_code', ({ error_code }) => error_code],
  ['key_id', ({ key_id }) => key_id],
  ['method', ({ method }) => method],
  ['path', ({ path }) => path],
  ['type', ({ type }) => type],
  ['dialect', ({ dialect }) => dialect],
  ['requested_model', ({ requested_model }) => requested_model],
  ['model', ({ model }) => model],
  ['maker', ({ maker }) => maker],
  ['computer_id', ({ computer_id }) => computer_id],
  ['stream', ({ stream }) => stream],
  ['cost', ({ cost }) => cost],
  ['basis', ({ basis }) => basis],
  ['latency_ms', ({ latency_ms }) => latency_ms],
  ['first_byte_ms', ({ first_byte_ms }) => first_byte_ms],
  ['quantities', ({ quantities }) => JSON.stringify(quantities)],
  ['attempts', ({ attempts }) => JSON.stringify(attempts)],
  ['tags', ({ tags }) => tagsHeader(tags)],
  ['client_request_id', ({ client_request_id }) => client_request_id],
  ['traceparent', ({ traceparent }) => traceparent],
  ['correction_of', ({ correction }) => correction?.of ?? null],
  ['correction_reason', ({ correction }) => correction?.reason ?? null],
  ['correction_reference', ({ correction }) => correction?.reference ?? null],
];
