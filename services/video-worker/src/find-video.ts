import type { Bucket, Entry } from '@switchyard/bus';
import { ID_PATTERN, ServiceError, type VideoRecord, videoKey } from '@switchyard/contracts';

/** @throws ServiceError `video_not_found`: never was, was deleted, or is another org's. */
export async function findVideo(
  videos: Bucket<VideoRecord>,
  org: string,
  id: string,
): Promise<Entry<VideoRecord>> {
  // What is no id cannot be a key of the bucket either, and may stand for several of them.
  const entry = [org, id].every((part) => ID_PATTERN.test(part)) ? await videos.get(videoKey(org, id)) : null;
  if (!entry || entry.value.deleted) throw new ServiceError('video_not_found', 'no video of this id');
  return entry;
}
