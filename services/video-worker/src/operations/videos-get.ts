import type { OperationRequest, VideoView } from '@switchyard/contracts';
import { findVideo } from '../find-video.ts';
import { showVideo } from '../show-video.ts';
import type { VideoOperations } from './video-operations.ts';

/** Returns one video from its record. */
export function getVideo({ videos, clock }: VideoOperations) {
  return async ({ org, id }: OperationRequest<'videos.get'>): Promise<VideoView> =>
    showVideo((await findVideo(videos, org, id)).value, clock.now());
}
