import type { Bucket, Entry } from '@switchyard/bus';
import { ID_PATTERN, ServiceError, type VideoRecord, videoKey } from '@switchyard/contracts';

/** @throws ServiceError `video_not_found` when the video never existed, was deleted, or belongs to another org. */
export async function findVideo(
  videos: Bucket<VideoRecord>,
  org: string,
  id: string,
): Promise<Entry<VideoRecord>> {
  // An invalid id is not a valid bucket key either, and could act as a wildcard that matches several keys.
  const entry = [org, id].every((part) => ID_PATTERN.test(part)) ? await videos.get(videoKey(org, id)) : null;
  if (!entry || entry.value.deleted) throw videoNotFound();
  return entry;
}

export function videoNotFound(): ServiceError {
  return new ServiceError('video_not_found', 'Video not found. GET /v1/videos lists your videos.');
}
