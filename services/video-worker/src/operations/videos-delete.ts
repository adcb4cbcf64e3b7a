// videos.delete: hides the video at once and removes the result. For an unfinished job, a worker does the rest: it
// cancels a started job at the maker, which stays charged, and refunds a job that no maker has.
import type { OperationRequest, OperationResponse } from '@switchyard/contracts';
import { findVideo, videoNotFound } from '../find-video.ts';
import type { VideoOperations } from './video-operations.ts';

export function deleteVideo(deps: VideoOperations) {
  return async ({
    org,
    id,
  }: OperationRequest<'videos.delete'>): Promise<OperationResponse<'videos.delete'>> => {
    await hide(deps, org, id);
    await deps.results
      .delete(id)
      .catch((error: unknown) =>
        deps.logger.warn({ err: error, video: id }, 'the result of a deleted video remains until it expires'),
      );
    return { id, object: 'video', deleted: true };
  };
}

async function hide({ videos, clock }: VideoOperations, org: string, id: string): Promise<void> {
  const { key } = await findVideo(videos, org, id);
  await videos.change(key, (entry) => {
    if (!entry || entry.value.deleted) throw videoNotFound();
    return { ...entry.value, deleted: true, next_at: new Date(clock.now()).toISOString() };
  });
}
