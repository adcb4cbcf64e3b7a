// The record of a job, made from the event that charged it: whoever makes it, and however often, it is the same.
import { BUCKETS, RevisionConflict } from '@switchyard/bus';
import { type Event, type VideoRecord, videoKey } from '@switchyard/contracts';
import type { JobSurroundings } from './surroundings.ts';

/**
 * An event older than this may be that of a job whose record has come to the end of its life, whatever became of it. An
 * hour less than records are kept, as clocks differ.
 */
export const EVENT_AGE_MS_MAX = BUCKETS.videos.ttlMs - 3_600_000;

/**
 * Makes the record where it is missing. An event that is as old as records get is left alone: its job is long over, and
 * begun anew it would fail and be refunded, also where its video was made and delivered.
 */
export async function ensureRecord(
  { videos, inputs, clock, logger }: Pick<JobSurroundings, 'videos' | 'inputs' | 'clock' | 'logger'>,
  event: Event<'video.charged'>,
): Promise<void> {
  const { org, video_id: id } = event.data;
  if (clock.now() - Date.parse(event.time) > EVENT_AGE_MS_MAX) {
    logger.debug(
      { video: id, charged_at: event.time },
      'a charge is older than records are kept: left alone',
    );
    return;
  }
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
