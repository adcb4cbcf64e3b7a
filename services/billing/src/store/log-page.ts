// One page of Logs: newest first, filtered, from where the last page ended.
import { LIST_LIMIT_DEFAULT, type LogsQuery, ServiceError } from '@switchyard/contracts';
import type { Filter } from 'mongodb';
import type { LogRow } from './documents.ts';
import type { Store } from './store.ts';

export interface LogPage {
  readonly rows: LogRow[];
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null;
}

/** @throws ServiceError `invalid_request` for a range that is upside down or a cursor that is none of ours. */
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

function logFilter(org: string, query: LogsQuery): Filter<LogRow> {
  const { key, type, model, computer, status, cursor } = query;
  const from = query.from === undefined ? null : new Date(query.from);
  const to = query.to === undefined ? null : new Date(query.to);
  if (from && to && from >= to)
    throw new ServiceError('invalid_request', 'from: must lie before to', { param: 'from' });
  const after = cursor === undefined ? null : readCursor(cursor);
  const at = { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) };
  return {
    org,
    ...(key === undefined ? {} : { key }),
    ...(type === undefined ? {} : { type }),
    ...(model === undefined ? {} : { models: model }),
    ...(computer === undefined ? {} : { computer }),
    ...(status === undefined ? {} : { status }),
    ...(from || to ? { at } : {}),
    ...(after ? { $or: [{ at: { $lt: after.at } }, { at: after.at, _id: { $lt: after.id } }] } : {}),
  };
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
