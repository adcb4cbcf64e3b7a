// Builds the record of a job from the event that charged it. The result is identical for every caller and repetition.
import { BUCKETS, RevisionConflict } from '@switchyard/bus';
import { type Event, type VideoRecord, videoKey } from '@switchyard/contracts';
import type { InputSummary } from '../input/input-store.ts';
import type { JobDeps } from './job-deps.ts';

/** The record of an older event may already have expired. One hour less than records are kept allows for clock skew. */
export const EVENT_AGE_MS_MAX = BUCKETS.videos.ttlMs - 3_600_000;

/**
 * Creates the record if it is missing. Ignores an event as old as the lifetime of records: its job ended long ago, and
 * a second run would refund it even if its video was delivered.
 * @param input of the job, when the caller has just stored it
 */
export async function ensureRecord(
  { videos, inputs, clock, logger }: Pick<JobDeps, 'videos' | 'inputs' | 'clock' | 'logger'>,
  event: Event<'video.charged'>,
  input?: InputSummary,
): Promise<void> {
  const { org, video_id: id } = event.data;
  if (clock.now() - Date.parse(event.time) > EVENT_AGE_MS_MAX) {
    logger.debug({ video: id, charged_at: event.time }, 'ignored a charge older than the life of a record');
    return;
  }
  const key = videoKey(org, id);
  if (!input && (await videos.get(key))) return;
  try {
    await videos.create(key, newRecord(event, input ?? (await inputs.summary(id))));
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error; // the record exists, whatever its state
  }
}

export function newRecord({ time, data }: Event<'video.charged'>, input: InputSummary): VideoRecord {
  const { video_id: id, org, key_id, request_id, requested_model, model, candidates } = data;
  return {
    ...{ id, org, key_id, request_id, requested_model, model, candidates },
    duration: data.duration,
    resolution: data.resolution,
    created_at: time,
    deadline_at: data.deadline_at,
    callback_url: input.callbackUrl,
    state: 'waiting',
    deleted: false,
    default_resolution: data.default_resolution,
    input_bytes: input.bytes,
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
    unpublished_events: [],
    tags: data.tags,
  };
}
