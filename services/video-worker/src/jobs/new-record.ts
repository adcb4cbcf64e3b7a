// The record of a job, made from the event that charged it: whoever makes it, and however often, it is the same.
import { RevisionConflict } from '@switchyard/bus';
import { type Event, type VideoRecord, videoKey } from '@switchyard/contracts';
import type { JobSurroundings } from './surroundings.ts';

/** Makes the record where it is missing. */
export async function ensureRecord(
  { videos, inputs }: Pick<JobSurroundings, 'videos' | 'inputs'>,
  event: Event<'video.charged'>,
): Promise<void> {
  const { org, video_id: id } = event.data;
  try {
    await videos.create(videoKey(org, id), newRecord(event, await inputs.callbackUrl(id)));
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error; // it is there, however far its job may have come
  }
}

export function newRecord({ time, data }: Event<'video.charged'>, callbackUrl: string | null): VideoRecord {
  const { video_id: id, org, key_id, request_id, requested_model, model, candidates } = data;
  return {
    ...{ id, org, key_id, request_id, requested_model, model, candidates },
    duration: data.duration,
    resolution: data.resolution,
    created_at: time,
    deadline_at: data.deadline_at,
    callback_url: callbackUrl,
    state: 'waiting',
    deleted: false,
    default_resolution: data.default_resolution,
    image_bytes: data.image_bytes,
    attempt: null,
    attempts: [],
    starts: 0,
    polls: 0,
    lease: null,
    next_at: time,
    difference_nano: '0',
    refunded_nano: '0',
    result: null,
    error: null,
    started_at: null,
    ended_at: null,
    news: [],
  };
}
