// One page of Logs, filtered.
import { invalidParam, type LogsQuery } from '@switchyard/contracts';
import { parseDollars } from '@switchyard/money';
import type { Filter } from 'mongodb';
import type { LogRow } from './documents.ts';
import { type Page, readPage } from './page.ts';
import type { Store } from './store.ts';

/** @throws ServiceError `invalid_request` for a reversed range or an unknown cursor */
export async function readLogPage({ logs }: Store, org: string, query: LogsQuery): Promise<Page<LogRow>> {
  return readPage(logs, { filter: logFilter(org, query), scope: { org } }, query);
}

/**
 * The filter for the collection.
 * @throws ServiceError `invalid_request` naming a reversed range or an unreadable value
 */
export function logFilter(org: string, query: LogsQuery): Filter<LogRow> {
  const { key, type, model: models, computer, status, tag: tags, client_request_id } = query;
  const exact = Object.entries({ key, type, models, computer, status, tags, client_request_id });
  const given = Object.fromEntries(exact.filter(([, value]) => value !== undefined));
  const request = query.request_id;
  const at = timeRange(query);
  const cost = costRange(query);
  return {
    org,
    ...given,
    ...(cost ? { cost } : {}),
    ...(at ? { at } : {}),
    ...(request === undefined ? {} : { $and: [{ $or: [{ _id: request }, { corrects: request }] }] }),
  };
}

/** The range of times of a query; null without one. @throws ServiceError `invalid_request` when it is reversed */
export function timeRange(query: Pick<LogsQuery, 'from' | 'to'>): { $gte?: Date; $lt?: Date } | null {
  const from = query.from === undefined ? null : new Date(query.from);
  const to = query.to === undefined ? null : new Date(query.to);
  if (from && to && from >= to) throw invalidParam('from', 'must be before to');
  return from || to ? { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) } : null;
}

function costRange(query: LogsQuery): { $gte?: bigint; $lte?: bigint } | null {
  const [min, max] = [costOf('cost_min', query), costOf('cost_max', query)];
  if (min !== null && max !== null && min > max) throw invalidParam('cost_min', 'must not be above cost_max');
  if (min === null && max === null) return null;
  return { ...(min === null ? {} : { $gte: min }), ...(max === null ? {} : { $lte: max }) };
}

function costOf(param: 'cost_min' | 'cost_max', query: LogsQuery): bigint | null {
  const value = query[param];
  if (value === undefined) return null;
  try {
    return parseDollars(value);
  } catch (cause) {
    throw invalidParam(param, 'must be US dollars with at most 9 decimals', cause);
  }
}
