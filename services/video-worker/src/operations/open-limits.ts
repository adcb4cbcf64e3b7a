// Limits the unfinished videos of an org, whose inputs share one object store with those of all other orgs.
import { OBJECT_STORES } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { OpenUse } from '../jobs/open-jobs.ts';

/** Maximum unfinished videos of an org. */
export const OPEN_JOBS_MAX = 1_000;
/** Maximum bytes of their stored inputs: a quarter of the store. */
export const OPEN_BYTES_MAX = OBJECT_STORES['video-inputs'].maxBytes / 4;
/** Some videos end within this time. */
const RETRY_AFTER_S = 30;

/** Videos that are created at the same moment may exceed the limits a little. @throws ServiceError `rate_limited` */
export function refuseFurther({ jobs, bytes }: OpenUse): void {
  if (jobs >= OPEN_JOBS_MAX) throw refusal('unfinished_videos', OPEN_JOBS_MAX, 'unfinished videos');
  if (bytes >= OPEN_BYTES_MAX)
    throw refusal('unfinished_video_bytes', OPEN_BYTES_MAX, 'bytes of input of unfinished videos');
}

function refusal(limit: string, max: number, what: string): ServiceError {
  const message = `The org is at its limit of ${max} ${what}. Retry when some have ended.`;
  return new ServiceError('rate_limited', message, {
    retryAfterS: RETRY_AFTER_S,
    details: { limit, of: 'org', max },
  });
}
