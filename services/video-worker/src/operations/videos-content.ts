// videos.content: the bytes of a result, or a part of them, at the reader's pace. The edge has checked who may.
import { type ByteRange, type IncomingCall, ObjectGone } from '@switchyard/bus';
import {
  ServiceError,
  type VideoContentHead,
  type VideoContentReply,
  type VideoResult,
  videoContentHead,
} from '@switchyard/contracts';
import { findVideo } from '../find-video.ts';
import type { VideoOperations } from './video-operations.ts';

export function videoContent(on: VideoOperations) {
  return async (call: IncomingCall): Promise<void> => {
    const { org, id, range } = videoContentHead.parse(call.head);
    await call.readBody(0);
    const result = await resultOf(on, org, id);
    const part = partOf(result.bytes, range);
    call.setHead(replyOf(result, part));
    if (!part) return call.end(null);
    const stored = await on.results.get(id, part);
    if (!stored) throw expired();
    try {
      for await (const chunk of stored.body) {
        if (call.isCancelled) return;
        if (!call.write(chunk)) await call.drained();
      }
    } catch (error) {
      throw error instanceof ObjectGone ? expired() : error;
    }
    call.end(null);
  };
}

async function resultOf(on: VideoOperations, org: string, id: string): Promise<VideoResult> {
  const { result } = (await findVideo(on.videos, org, id)).value;
  if (!result) throw new ServiceError('video_not_found', 'the video is not there yet');
  if (Date.parse(result.expires_at) <= on.clock.now()) throw expired();
  return result;
}

/** Null where nothing of the range is there. */
export function partOf(bytes: number, range: VideoContentHead['range']): ByteRange | null {
  if (range === null) return { start: 0, end: bytes };
  const start = 'suffix' in range ? Math.max(0, bytes - range.suffix) : range.first;
  const end = 'suffix' in range ? bytes : Math.min(bytes, (range.last ?? bytes - 1) + 1);
  return start < end ? { start, end } : null;
}

function replyOf({ media_type, bytes }: VideoResult, part: ByteRange | null): VideoContentReply {
  return { media_type, bytes, first: part?.start ?? null, last: part ? part.end - 1 : null };
}

function expired(): ServiceError {
  return new ServiceError('video_expired', 'the video is no longer kept');
}
