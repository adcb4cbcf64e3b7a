// The part of a file or video that a caller asks for.
import { z } from 'zod';
import { ServiceError } from './errors.ts';

/** As in HTTP: from `first` to `last`, or the last `suffix` bytes. */
export const askedRange = z.union([
  z.object({ first: z.int().nonnegative(), last: z.int().nonnegative().nullable() }),
  z.object({ suffix: z.int().nonnegative() }),
]);
export type AskedRange = z.infer<typeof askedRange>;

/** From `start` up to, and not including, `end`. */
export const contentPart = z.object({ start: z.int().nonnegative(), end: z.int().nonnegative() });
export type ContentPart = z.infer<typeof contentPart>;

interface AskedPart {
  readonly range: AskedRange | null;
  /** The range applies only if the content has this tag. */
  readonly if_range: string | null;
}

/**
 * The part of the content that is asked for; null: all of it.
 * @throws ServiceError `range_not_satisfiable`
 */
export function partOf(
  { bytes, etag }: { bytes: number; etag?: string },
  { range, if_range }: AskedPart,
): ContentPart | null {
  if (range === null || (if_range !== null && if_range !== etag)) return null;
  const start = 'suffix' in range ? Math.max(0, bytes - range.suffix) : range.first;
  const end = 'suffix' in range ? bytes : Math.min(bytes, (range.last ?? bytes - 1) + 1);
  if (start < end) return { start, end };
  const message = `The range is outside the content, which has ${bytes} bytes. Use one within it.`;
  throw new ServiceError('range_not_satisfiable', message, { details: { bytes } });
}
