// One page of Logs: newest first, filtered, starting at the cursor.
import { LIST_LIMIT_DEFAULT, type LogsQuery, ServiceError } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import type { Filter } from 'mongodb';
import type { LogRow } from './documents.ts';
import type { INDEXES } from './indexes.ts';
import type { Store } from './store.ts';

export interface LogPage {
  readonly rows: LogRow[];
  /** Cursor of the next page; null when this is the last page. */
  readonly next: string | null;
}

/** @throws ServiceError `invalid_request` for a reversed range or an invalid cursor */
export async function readLogPage({ logs }: Store, org: string, query: LogsQuery): Promise<LogPage> {
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const rows = await logs
    .find(logFilter(org, query))
    .sort({ at: -1, _id: -1 })
    .limit(limit + 1)
    .toArray();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next: rows.length > limit && last ? writeCursor(last) : null };
}

/** The index for each filter. A test checks that `INDEXES` has it. */
export const INDEX_OF_FILTER = {
  key: 'org_key_at',
  type: 'org_type_at',
  model: 'org_models_at',
  computer: 'org_computer_at',
  status: 'org_status_at',
  // For a range with many rows the server uses `org_at` instead: it tries both on the first rows.
  cost_min: 'org_cost_at',
  cost_max: 'org_cost_at',
  from: 'org_at',
  to: 'org_at',
  // Two indexes: `_id_` finds the call, this one its refunds.
  request_id: 'corrects',
} as const satisfies Record<
  Exclude<keyof LogsQuery, 'limit' | 'cursor'>,
  (typeof INDEXES)['logs'][number]['name']
>;

/**
 * The filter for the collection.
 * @throws ServiceError `invalid_request` naming a reversed range or an unreadable value
 */
export function logFilter(org: string, query: LogsQuery): Filter<LogRow> {
  const { key, type, model: models, computer, status, request_id: request } = query;
  const exact = Object.entries({ key, type, models, computer, status });
  const given = Object.fromEntries(exact.filter(([, value]) => value !== undefined));
  const either: Filter<LogRow>[] = [];
  if (request !== undefined) either.push({ $or: [{ _id: request }, { corrects: request }] });
  if (query.cursor !== undefined) {
    const { at, id } = readCursor(query.cursor);
    either.push({ $or: [{ at: { $lt: at } }, { at, _id: { $lt: id } }] });
  }
  const at = timeRange(query);
  const cost = costRange(query);
  return {
    org,
    ...given,
    ...(cost ? { cost } : {}),
    ...(at ? { at } : {}),
    ...(either.length > 0 ? { $and: either } : {}),
  };
}

function timeRange(query: LogsQuery): { $gte?: Date; $lt?: Date } | null {
  const from = query.from === undefined ? null : new Date(query.from);
  const to = query.to === undefined ? null : new Date(query.to);
  if (from && to && from >= to)
    throw new ServiceError('invalid_request', 'from: must lie before to', { param: 'from' });
  return from || to ? { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) } : null;
}

function costRange(query: LogsQuery): { $gte?: bigint; $lte?: bigint } | null {
  const [min, max] = [costOf('cost_min', query), costOf('cost_max', query)];
  if (min !== null && max !== null && min > max)
    throw new ServiceError('invalid_request', 'cost_min: must not be above cost_max', { param: 'cost_min' });
  if (min === null && max === null) return null;
  return { ...(min === null ? {} : { $gte: min }), ...(max === null ? {} : { $lte: max }) };
}

function costOf(param: 'cost_min' | 'cost_max', query: LogsQuery): bigint | null {
  const value = query[param];
  if (value === undefined) return null;
  try {
    return parseDollars(value);
  } catch (cause) {
    const message = `${param}: must be US dollars with at most 9 decimals`;
    throw new ServiceError('invalid_request', message, { param, cause });
  }
}

interface Position {
  readonly at: Date;
  readonly id: string;
}

function writeCursor({ at, _id }: LogRow): string {
  return Buffer.from(`${at.getTime()}/${_id}`).toString('base64url');
}

function readCursor(cursor: string): Position {
  const match = /^(\d{1,15})\/(.+)$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'));
  const [, at, id] = match ?? [];
  if (at === undefined || id === undefined)
    throw new ServiceError('invalid_request', 'cursor: is not one that a list has given', {
      param: 'cursor',
    });
  return { at: new Date(Number(at)), id };
}
