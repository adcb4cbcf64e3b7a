// The shape of every list: {"object": "list", "data": [...], "has_more", "next_cursor"}.
import { z } from 'zod';

export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  });
}

export const LIST_LIMIT_MAX = 1_000;
export const LIST_LIMIT_DEFAULT = 50;
