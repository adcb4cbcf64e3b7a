// The part of a file or video that a caller asks for.
import { z } from 'zod';

/** As HTTP has it: from `first` to `last`, or the last `suffix` bytes. */
export const askedRange = z.union([
  z.object({ first: z.int().nonnegative(), last: z.int().nonnegative().nullable() }),
  z.object({ suffix: z.int().nonnegative() }),
]);
export type AskedRange = z.infer<typeof askedRange>;

/** From `start` up to, and not including, `end`; null when the range is outside the content. */
export function resolveRange(asked: AskedRange, bytes: number): { start: number; end: number } | null {
  const start = 'suffix' in asked ? Math.max(0, bytes - asked.suffix) : asked.first;
  const end = 'suffix' in asked ? bytes : Math.min(bytes, (asked.last ?? bytes - 1) + 1);
  return start < end ? { start, end } : null;
}
