// Limits the videos of an org, whose records and inputs share their stores with those of all other orgs.
import { BUCKETS, bytesLeft, OBJECT_STORES } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { VideoOperations } from './video-operations.ts';

/** Maximum unfinished videos of an org. */
export const OPEN_JOBS_MAX = 1_000;
/** Maximum bytes of their stored inputs: a quarter of the store. */
export const OPEN_BYTES_MAX = OBJECT_STORES['video-inputs'].maxBytes / 4;
/** Some videos end within this time. */
const RETRY_AFTER_S = 30;
/** Maximum records of an org. A record has at most 14 KB, so one org takes at most a quarter of the bucket. */
export const KEPT_VIDEOS_MAX = 20_000;
/** Some records expire within this time, if the org creates videos at an even pace. */
const KEPT_RETRY_AFTER_S = 3_600;
/** Bytes of the bucket that are reserved for existing jobs of all orgs, whose records grow until they end. */
export const RECORD_BYTES_LEFT_MIN = BUCKETS.videos.maxBytes / 16;

/** Videos that are created at the same moment may exceed the limits a little. @throws ServiceError `rate_limited` */
export function requireBelowOpenLimits({ openJobs }: Pick<VideoOperations, 'openJobs'>, org: string): void {
  const open = openJobs.valuesUnder(`${org}.`);
  const bytes = open.reduce((sum, { input_bytes }) => sum + input_bytes, 0);
  const ended = 'Retry when some have ended.';
  if (open.length >= OPEN_JOBS_MAX)
    throw refusal('unfinished_videos', OPEN_JOBS_MAX, `unfinished videos. ${ended}`, RETRY_AFTER_S);
  if (bytes >= OPEN_BYTES_MAX) {
    const what = `bytes of input of unfinished videos. ${ended}`;
    throw refusal('unfinished_video_bytes', OPEN_BYTES_MAX, what, RETRY_AFTER_S);
  }
}

/**
 * Refuses a video that might find no room, or whose record might find none: the operator would pay for a video that is
 * lost, and a charge without a record is never refunded.
 * @throws ServiceError `rate_limited`, `storage_full`, `service_unavailable`
 */
export async function requireStorageFor(
  { bus, videos, resultBytesMax }: Pick<VideoOperations, 'bus' | 'videos' | 'resultBytesMax'>,
  org: string,
): Promise<void> {
  const [kept, recordsLeft, resultsLeft] = await Promise.all([
    videos.keysWithDeleted(`${org}.>`),
    bytesLeft(bus, 'KV_videos'),
    bytesLeft(bus, 'OBJ_video-results'),
  ]);
  if (kept.length >= KEPT_VIDEOS_MAX) {
    const what = 'videos of the last 30 days. Retry when some have expired.';
    throw refusal('kept_videos', KEPT_VIDEOS_MAX, what, KEPT_RETRY_AFTER_S);
  }
  if (recordsLeft < RECORD_BYTES_LEFT_MIN) throw almostFull('videos');
  if (resultsLeft < resultBytesMax) throw almostFull('video-results');
}

function almostFull(store: string): ServiceError {
  return new ServiceError('storage_full', `Store ${store} is almost full. The operator must add storage.`);
}

function refusal(limit: string, max: number, what: string, retryAfterS: number): ServiceError {
  return new ServiceError('rate_limited', `The org is at its limit of ${max} ${what}`, {
    retryAfterS,
    details: { limit, of: 'org', max },
  });
}
