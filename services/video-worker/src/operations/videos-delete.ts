// videos.delete: hidden at once. The result goes with it; of a job that is not over, a worker sees to the rest: it tells
// the maker where one has it (the charge stands then), and gives the charge back where none had.
import { RevisionConflict } from '@switchyard/bus';
import { type OperationRequest, type OperationResponse, ServiceError, videoKey } from '@switchyard/contracts';
import { findVideo } from '../find-video.ts';
import type { VideoOperations } from './video-operations.ts';

/** Changes by the worker that has the job, met in a row. */
const CONFLICTS_MAX = 20;

export function deleteVideo(on: VideoOperations) {
  return async ({
    org,
    id,
  }: OperationRequest<'videos.delete'>): Promise<OperationResponse<'videos.delete'>> => {
    await hide(on, org, id);
    await on.results
      .delete(id)
      .catch((error: unknown) =>
        on.logger.warn({ err: error, video: id }, 'the result of a deleted video goes when its time is over'),
      );
    return { id, object: 'video', deleted: true };
  };
}

async function hide({ videos, clock }: VideoOperations, org: string, id: string): Promise<void> {
  for (let attempt = 0; attempt < CONFLICTS_MAX; attempt += 1) {
    const { value, revision } = await findVideo(videos, org, id);
    const next_at = new Date(clock.now()).toISOString();
    try {
      await videos.update(videoKey(org, id), { ...value, deleted: true, next_at }, revision);
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new ServiceError('service_unavailable', 'the video is in the middle of many changes', {
    retryAfterS: 1,
  });
}
