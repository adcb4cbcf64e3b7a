// Every list, page by page as OpenAI's: `after` and `limit` ask for a page, `last_id` and `has_more` lead to the next.
import { z } from 'zod';
import { invalidParam, type ServiceError } from './errors.ts';

export const LIST_LIMIT_MAX = 1_000;
export const LIST_LIMIT_DEFAULT = 50;
/** Clients of OpenAI may ask for this many; a page has at most `LIST_LIMIT_MAX`. */
const LIST_LIMIT_ASKED_MAX = 10_000;
const CURSOR_LENGTH_MAX = 300;

export interface List<T> {
  object: 'list';
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
  next_cursor: string | null;
}

export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(item).describe('The items'),
    first_id: z.string().nullable().describe('Id of the first item; null when there are none'),
    last_id: z.string().nullable().describe('Id of the last item: give it as `after` to get the next page'),
    has_more: z.boolean().describe('Whether there are more items'),
    next_cursor: z.string().nullable().describe('`last_id` when there are more; null on the last page'),
  });
}

function listQueryWith(limit: { description: string; default?: number }) {
  return z.strictObject({
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(LIST_LIMIT_ASKED_MAX)
      .optional()
      .meta({ ...limit, description: `${limit.description}; capped at ${LIST_LIMIT_MAX}` }),
    after: z.string().max(CURSOR_LENGTH_MAX).optional().describe('`last_id` of the page before'),
    cursor: z.string().max(CURSOR_LENGTH_MAX).optional().describe('Alias of `after`'),
  });
}

/** The query of a list that may be long. */
export const listQuery = listQueryWith({ description: 'Maximum items', default: LIST_LIMIT_DEFAULT });
/** The query of a short list, complete unless a limit is given. */
export const shortListQuery = listQueryWith({ description: 'Maximum items; default: all' });
export type ListQuery = z.infer<typeof listQuery>;

/** Maximum items on a page of a long list. */
export function limitOf({ limit = LIST_LIMIT_DEFAULT }: ListQuery): number {
  return Math.min(limit, LIST_LIMIT_MAX);
}

/** The id after which the page begins. */
export function afterOf({ after, cursor }: ListQuery): string | undefined {
  return after ?? cursor;
}

/** One page as it is answered. */
export function pageOf<T>(data: T[], hasMore: boolean, idOf: (item: T) => string): List<T> {
  const [first, last] = [data[0], data.at(-1)];
  const lastId = last === undefined ? null : idOf(last);
  return {
    object: 'list',
    data,
    first_id: first === undefined ? null : idOf(first),
    last_id: lastId,
    has_more: hasMore,
    next_cursor: hasMore ? lastId : null,
  };
}

/**
 * One page of a short list.
 * @throws ServiceError `invalid_request` for a cursor that is not in the list
 */
export function pageFrom<T>(all: readonly T[], query: ListQuery, idOf: (item: T) => string): List<T> {
  const after = afterOf(query);
  const start = after === undefined ? 0 : all.findIndex((item) => idOf(item) === after) + 1;
  if (after !== undefined && start === 0) throw unknownCursor();
  const end = query.limit === undefined ? all.length : start + limitOf(query);
  return pageOf(all.slice(start, end), end < all.length, idOf);
}

/** The error for an unknown cursor, or one whose item is gone. */
export function unknownCursor(): ServiceError {
  return invalidParam('after', 'not in this list. Begin again without it.');
}
