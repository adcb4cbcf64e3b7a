// The shape of every list: {"object": "list", "data": [...], "has_more", "next_cursor"}.
import { z } from 'zod';

export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(item).describe('The things themselves'),
    has_more: z.boolean().describe('Whether there are more of them'),
    next_cursor: z.string().nullable().describe('What to give as `cursor` to get those'),
  });
}

export const LIST_LIMIT_MAX = 1_000;
export const LIST_LIMIT_DEFAULT = 50;
