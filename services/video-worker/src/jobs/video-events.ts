// Builds the events of a job from its record alone, so every worker and every repetition publishes identical events.
import {
  type Event,
  eventIds,
  makeEvent,
  type VideoEventKind,
  type VideoRecord,
} from '@switchyard/contracts';
import { EVENT_SOURCE } from './job-deps.ts';

/** Error code of a job that its caller deleted before it was sent to a maker. */
export const DELETED = 'deleted';

export function eventOf(record: VideoRecord, kind: VideoEventKind): Event {
  switch (kind) {
    case 'difference':
      return refund(record, 'cheaper_model');
    case 'refund':
      return refund(record, record.error?.code === DELETED ? 'deleted' : 'failed');
    case 'completed':
    case 'failed':
      return ended(record, kind);
    default:
      throw new Error(`unknown event kind: ${String(kind satisfies never)}`);
  }
}

function refund(record: VideoRecord, reason: 'failed' | 'deleted' | 'cheaper_model'): Event {
  const { id, org, key_id, request_id, candidates } = record;
  const model = candidates[0]?.model ?? record.model;
  const isPart = reason === 'cheaper_model';
  const all = BigInt(record.refunded_nano) - BigInt(record.difference_nano);
  return makeEvent({
    name: 'video.refunded',
    id: isPart ? eventIds.videoDifference(id) : eventIds.videoRefund(id),
    source: EVENT_SOURCE,
    time: new Date((isPart ? record.started_at : record.ended_at) ?? record.created_at),
    data: {
      video_id: id,
      ...{ request_id, org, key_id, model },
      maker: model.slice(0, model.indexOf('/')),
      reason,
      seconds: isPart ? 0 : record.duration,
      cost_nano: isPart ? record.difference_nano : all.toString(),
      tags: record.tags,
    },
  });
}

function ended(record: VideoRecord, end: 'completed' | 'failed'): Event {
  const { id, org, key_id, request_id, model, duration, attempts, error } = record;
  const endedAt = record.ended_at ?? record.created_at;
  return makeEvent({
    name: `video.${end}`,
    id: eventIds.videoEnd(id, end),
    source: EVENT_SOURCE,
    time: new Date(endedAt),
    data: {
      video_id: id,
      ...{ request_id, org, key_id, model, duration, attempts },
      elapsed_ms: Math.max(0, Date.parse(endedAt) - Date.parse(record.created_at)),
      error_code: end === 'failed' ? (error?.code ?? null) : null,
    },
  });
}
