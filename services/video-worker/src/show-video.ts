// The public view of a job.
import type { VideoRecord, VideoStatusName, VideoView } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { costNano } from './jobs/money.ts';

/** Shown when only the maker knows the resolution. */
const RESOLUTION_UNKNOWN = 'auto';

const STATUS_OF: Record<VideoRecord['state'], VideoStatusName> = {
  waiting: 'pending',
  starting: 'pending',
  started: 'pending',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'failed',
};

export function showVideo(record: VideoRecord, now: number): VideoView {
  const { id, model, duration, state, result, error } = record;
  const isKept = result !== null && Date.parse(result.expires_at) > now;
  return {
    id,
    object: 'video',
    status: STATUS_OF[state],
    model,
    duration,
    resolution: record.resolution ?? record.default_resolution ?? RESOLUTION_UNKNOWN,
    created_at: record.created_at,
    usage: { seconds: state === 'failed' ? 0 : duration, cost: dollarsToJson(costNano(record)) },
    media_type: isKept ? result.media_type : null,
    ...(result === null ? {} : { expires_at: result.expires_at }),
    ...(error === null ? {} : { error }),
  };
}
