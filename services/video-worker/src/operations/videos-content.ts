// videos.content: streams a result, or a byte range of it, at the reader's pace. The edge has authorized the caller.
import { type IncomingCall, ObjectGone } from '@switchyard/bus';
import {
  partOf,
  ServiceError,
  type VideoContentReply,
  type VideoResult,
  videoContentHead,
} from '@switchyard/contracts';
import { findVideo } from '../find-video.ts';
import type { VideoOperations } from './video-operations.ts';

export function videoContent(deps: VideoOperations) {
  return async (call: IncomingCall): Promise<void> => {
    const { org, id, range } = videoContentHead.parse(call.head);
    await call.readBody(0);
    const result = await resultOf(deps, org, id);
    const { media_type, bytes } = result;
    const part = partOf(result, { range, if_range: null });
    call.setHead({ media_type, bytes, part } satisfies VideoContentReply);
    const stored = await deps.results.get(id, part ?? { start: 0, end: bytes });
    if (!stored) throw expired();
    try {
      await call.send(stored);
    } catch (error) {
      throw error instanceof ObjectGone ? expired() : error;
    }
  };
}

async function resultOf(deps: VideoOperations, org: string, id: string): Promise<VideoResult> {
  const { result } = (await findVideo(deps.videos, org, id)).value;
  if (!result)
    throw new ServiceError('video_not_found', 'The video is not finished. Poll GET /v1/videos/{id}.');
  if (Date.parse(result.expires_at) <= deps.clock.now()) throw expired();
  return result;
}

function expired(): ServiceError {
  return new ServiceError('video_expired', 'The video has expired. Create it again.');
}
