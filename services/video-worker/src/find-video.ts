import type { Bucket, Entry } from '@switchyard/bus';
import { ServiceError, type VideoRecord, videoKey } from '@switchyard/contracts';

/** @throws ServiceError `video_not_found` when the video never existed, was deleted, or belongs to another org. */
export async function findVideo(
  videos: Bucket<VideoRecord>,
  org: string,
  id: string,
): Promise<Entry<VideoRecord>> {
  const entry = await videos.get(videoKey(org, id));
  if (!entry || entry.value.deleted) throw videoNotFound();
  return entry;
}

export function videoNotFound(): ServiceError {
  return new ServiceError('video_not_found', 'Video not found. GET /v1/videos lists your videos.');
}
