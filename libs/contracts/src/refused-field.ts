// A field of a request that clients know and this service refuses.
import { z } from 'zod';

/** Accepts only null and absence. `why` says what to do instead. */
export function refusedField(why: string) {
  return z.null(why).optional().describe(`Not supported: ${why}`);
}
