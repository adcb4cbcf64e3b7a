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
  logEntry,
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

/** A forgotten member, or one that is no cell, does not compile. */
const { object: _, correction: __, ...MEMBERS } = logEntry.shape;
const CORRECTION = ['correction_of', 'correction_reason', 'correction_reference'] as const;
type Column = keyof typeof MEMBERS | (typeof CORRECTION)[number];
const COLUMNS = [...Object.keys(MEMBERS), ...CORRECTION] as Column[];

/** Yields pieces of the text. The first one needs the first rows, so that an earlier error is an error answer. */
export async function* logsText(options: LogsTextOptions): AsyncGenerator<Buffer> {
  const { bus, key, query, format, signal, onMore } = options;
  let left = query.limit ?? LOG_EXPORT_ROWS_MAX;
  let after = afterOf(query);
  let head = format === 'csv' ? csvLine(COLUMNS) : '';
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
  const { quantities, attempts, tags, correction } = entry;
  // The names in quantities and attempts are not known before the last row, so these are JSON.
  const cells: Record<Column, Cell> = {
    ...entry,
    quantities: JSON.stringify(quantities),
    attempts: JSON.stringify(attempts),
    tags: tagsHeader(tags),
    correction_of: correction?.of ?? null,
    correction_reason: correction?.reason ?? null,
    correction_reference: correction?.reference ?? null,
  };
  return csvLine(COLUMNS.map((name) => cells[name]));
}

/** The tags as in the header X-Service-Tags. */
function tagsHeader(tags: Tags): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}
