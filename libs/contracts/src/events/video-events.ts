// Events of video jobs.
import { z } from 'zod';
import { callerContext, tags } from '../caller-context.ts';
import { logAttempt } from '../log-entry.ts';
import { videoCandidate } from '../videos.ts';
import { chargeLine, defineBookedEvent, defineEvent, nanos } from './define-event.ts';

/** A video job was accepted and charged in one step: this event creates the job and freezes its price. */
const videoCharged = z.object({
  video_id: z.string(),
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  path: z.string(),
  requested_model: z.string(),
  /** The model whose price is charged, and its maker. */
  model: z.string(),
  maker: z.string(),
  /** The models that can serve it, in order, with what each asks for it. */
  candidates: z.array(videoCandidate).min(1),
  /** Seconds. */
  duration: z.int().positive(),
  /** As requested, and the model's default if nothing was. */
  resolution: z.string().nullable(),
  default_resolution: z.string().nullable(),
  /** Bytes of its first frame; 0: it has none. */
  image_bytes: z.int().nonnegative(),
  deadline_at: z.iso.datetime(),
  cost_nano: nanos,
  lines: z.array(chargeLine),
  latency_ms: z.number(),
  ...callerContext.shape,
});

const videoRefunded = z.object({
  video_id: z.string(),
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  /** The model whose price was charged, and its maker. */
  model: z.string(),
  maker: z.string(),
  /** `cheaper_model`: a part, the difference to the one that serves; else all that was left of the charge. */
  reason: z.enum(['failed', 'deleted', 'cheaper_model']),
  /** Seconds taken back with it. */
  seconds: z.number().nonnegative(),
  /** The refund, above zero. */
  cost_nano: nanos,
  /** Those of the charge. */
  tags: tags.optional(),
});

const videoEnded = z.object({
  video_id: z.string(),
  request_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  model: z.string(),
  duration: z.int(),
  /** Milliseconds from the request to the end. */
  elapsed_ms: z.number(),
  /** Upstreams that were asked and did not take it. */
  attempts: z.array(logAttempt),
  error_code: z.string().nullable(),
});

const SHOWS = ['video_id', 'model', 'elapsed_ms', 'error_code'] as const;

/** The same fact always has the same id. */
export const videoEventIds = {
  videoCharge: (videoId: string) => `${videoId}:charge`,
  videoRefund: (videoId: string) => `${videoId}:refund`,
  /** Given back when a cheaper model takes the job; a failure later gives back the rest. */
  videoDifference: (videoId: string) => `${videoId}:difference`,
  videoEnd: (videoId: string, end: 'completed' | 'failed') => `${videoId}:${end}`,
} as const;

export const videoEvents = {
  'video.charged': defineBookedEvent({
    meaning: 'A video job was taken; it carries the full price and is the job itself.',
    by: 'video-worker',
    data: videoCharged,
    shows: ['video_id', 'model', 'duration', 'cost_nano'],
    booked: {
      id: ({ video_id }) => videoEventIds.videoCharge(video_id),
      kind: 'video',
      repeats: 'same_time',
    },
  }),
  'video.refunded': defineBookedEvent({
    meaning: 'A charge for a video was refunded: all of it, or the difference to a cheaper model.',
    by: 'video-worker',
    data: videoRefunded,
    shows: ['video_id', 'model', 'reason', 'cost_nano'],
    booked: {
      id: ({ video_id, reason }) =>
        reason === 'cheaper_model'
          ? videoEventIds.videoDifference(video_id)
          : videoEventIds.videoRefund(video_id),
      kind: 'refund',
      repeats: 'same_time',
    },
  }),
  'video.completed': defineEvent({
    meaning: 'A video is ready.',
    by: 'video-worker',
    data: videoEnded,
    shows: SHOWS,
  }),
  'video.failed': defineEvent({
    meaning: 'A video job failed; `error_code` says why.',
    by: 'video-worker',
    data: videoEnded,
    shows: SHOWS,
  }),
} as const;
