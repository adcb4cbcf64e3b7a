// Videos: POST/GET/DELETE /v1/videos…, the record of a job in the KV bucket `videos`, and what crosses the bus.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { askedRange, contentPart } from './byte-range.ts';
import { tags } from './caller-context.ts';
import { upstream } from './catalog.ts';
import { chargedCall } from './charged-call.ts';
import { dollars } from './dollars.ts';
import { ID_PREFIXES, idOf } from './ids.ts';
import { listOf } from './lists.ts';
import { logAttempt } from './log-entry.ts';
import { modelChoice, modelRequest, providerOptions } from './model-choice.ts';

const VIDEO_SECONDS_MIN = 1;
const VIDEO_SECONDS_MAX = 60;
const VIDEO_PROMPT_LENGTH_MAX = 32_000;
/** Bytes of a first frame, decoded: as a data URL it fits the body of a model call. */
export const VIDEO_IMAGE_BYTES_MAX = 20 * 1024 * 1024;
const CALLBACK_URL_LENGTH_MAX = 2_048;
/** How long a result is kept, and how long its signed address lives. */
export const VIDEO_RESULT_HOURS = 24;
export const VIDEO_URL_SECONDS = 3_600;

const RESOLUTION = /^(480p|720p|1080p|[1-9]\d{1,4}x[1-9]\d{1,4})$/;
const RATIO = /^[1-9]\d{0,2}:[1-9]\d{0,2}$/;
/** Sizes are whole pixels, so 854x480 counts as 16:9. */
const RATIO_TOLERANCE = 0.02;

export const videosRequest = z
  .looseObject({
    ...modelChoice,
    prompt: z.string().min(1).max(VIDEO_PROMPT_LENGTH_MAX).describe('What to show'),
    duration: z
      .int()
      .min(VIDEO_SECONDS_MIN)
      .max(VIDEO_SECONDS_MAX)
      .describe('Seconds; each model accepts its own lengths, and is charged by the second'),
    resolution: z
      .string()
      .regex(RESOLUTION, 'must be 480p, 720p, 1080p or <w>x<h>')
      .nullish()
      .describe(
        '480p, 720p, 1080p or <width>x<height>; when omitted the model chooses and its highest rate is charged',
      ),
    aspect_ratio: z.string().regex(RATIO, 'must be <w>:<h>').nullish().describe('<w>:<h>'),
    generate_audio: z.boolean().nullish().describe('Add sound, if the model can make it'),
    image: z
      .string()
      .regex(/^(data:|https?:\/\/)/i, 'must be an http(s) URL or data:<media_type>;base64,<data>')
      .nullish()
      .describe(
        'The first frame, for image-to-video models: an http(s) URL, or data:<media_type>;base64,<data>',
      ),
    seed: z.int().nullish().describe('The same seed gives the same video, where the model supports it'),
    n: z.literal(1, 'one video for each request').nullish().describe('One video for each request'),
    provider_options: providerOptions,
    callback_url: z
      .url({ protocol: /^https?$/, error: 'not an http(s) URL' })
      .max(CALLBACK_URL_LENGTH_MAX)
      .nullish()
      .describe('Receives a POST when the job ends, signed as in Standard Webhooks'),
  })
  .refine(({ resolution, aspect_ratio: ratio }) => !resolution || !ratio || agree(resolution, ratio), {
    message: 'contradicts the size given as resolution',
    path: ['aspect_ratio'],
  })
  .apply(modelRequest, {
    description: 'A video to make. Fields that are not listed here go to the maker as they are',
    examples: [{ model: 'local/video', prompt: 'a red boat on the sea', duration: 2, resolution: '480p' }],
  });
export type VideosRequest = z.infer<typeof videosRequest>;

function agree(resolution: string, ratio: string): boolean {
  const [width, height] = resolution.split('x').map(Number);
  const [across, down] = ratio.split(':').map(Number);
  if (!width || !height || !across || !down) return true; // 720p goes with any ratio
  const wanted = across / down;
  return Math.abs(width / height - wanted) / wanted <= RATIO_TOLERANCE;
}

const VIDEO_STATUSES = ['pending', 'completed', 'failed'] as const;
export const videoStatus = z.enum(VIDEO_STATUSES);
export type VideoStatusName = z.infer<typeof videoStatus>;

export const videoObject = z.object({
  id: idOf('video').describe('Names the job in GET /v1/videos/{id}'),
  object: z.literal('video').describe('Always video'),
  status: videoStatus.describe('Poll until it is no longer pending'),
  model: z
    .string()
    .describe('The model that serves; the first one asked for until a maker has taken the job'),
  duration: z.int().describe('Seconds asked for'),
  resolution: z.string().describe('As requested, else the model’s own; `auto` if unknown'),
  created_at: z.iso.datetime().describe('When the job was taken'),
  usage: z
    .object({
      seconds: z.number().describe('Seconds charged; 0 after a refund'),
      cost: dollars.describe('US dollars: the full price while pending, 0 after a refund'),
    })
    .describe('What is charged'),
  videos: z
    .array(
      z.object({
        media_type: z.string().describe('Such as video/mp4'),
        url: z.string().describe('URL of the video for an hour, without a key; another GET gives a new one'),
      }),
    )
    .optional()
    .describe('When completed; empty once the result is no longer kept'),
  expires_at: z.iso.datetime().optional().describe('When completed: until when the result is kept'),
  error: z
    .object({
      code: z.string().describe('Why, for programs'),
      message: z.string().describe('Why, for people'),
    })
    .optional()
    .describe('When failed; the charge is refunded'),
});
export type VideoObject = z.infer<typeof videoObject>;
export const videoList = listOf(videoObject);

/** A job as the workers report it; the edge adds the signed URL of its result. */
export const videoView = videoObject.omit({ videos: true }).extend({ media_type: z.string().nullable() });
export type VideoView = z.infer<typeof videoView>;
export const videoListing = listOf(videoView);

export const deletedVideo = z.object({
  id: z.string().describe('The deleted video'),
  object: z.literal('video').describe('Always video'),
  deleted: z.literal(true).describe('Always true'),
});

/** A new id; ids sort by their time, so that a list can be read page by page. */
export function newVideoId(nowMs: number): string {
  return `${ID_PREFIXES.video}${nowMs.toString(16).padStart(12, '0')}${randomBytes(12).toString('hex')}`;
}

/** A model that can serve the job, and what it asks for it. */
export const videoCandidate = z.object({ model: z.string(), cost_nano: z.string() });

/**
 * `waiting`: no maker has it. `starting`: one was, or is being, asked; it is not known yet whether it took the job.
 * `started`: one has it. `cancelled`: deleted by its caller after a maker had taken it; the charge stands.
 */
const VIDEO_STATES = ['waiting', 'starting', 'started', 'completed', 'failed', 'cancelled'] as const;

/** Facts of a job that must become events: written in the same step as the fact, and published from the record. */
const VIDEO_EVENT_KINDS = ['difference', 'refund', 'completed', 'failed'] as const;
export type VideoEventKind = (typeof VIDEO_EVENT_KINDS)[number];

/** What is in the object store `video-results` under the job's id. */
export const videoResult = z.object({
  media_type: z.string(),
  bytes: z.int().positive(),
  expires_at: z.iso.datetime(),
});
export type VideoResult = z.infer<typeof videoResult>;

/**
 * KV bucket `videos`, key `<org>.<id>`. Created from the event `video.charged`, then written by the worker that holds
 * its lease, and marked `deleted` by the service that handles the deletion; always by compare-and-set.
 */
export const videoRecord = z.object({
  id: idOf('video'),
  org: idOf('org'),
  key_id: z.string(),
  request_id: z.string(),
  requested_model: z.string(),
  duration: z.int(),
  /** As asked for; null: the model chooses. */
  resolution: z.string().nullable(),
  created_at: z.iso.datetime(),
  /** A job that has not ended by then fails. */
  deadline_at: z.iso.datetime(),
  callback_url: z.string().nullable(),
  /** Bytes of its stored input, with the first frame. */
  input_bytes: z.int().nonnegative(),
  candidates: z.array(videoCandidate).min(1),
  state: z.enum(VIDEO_STATES),
  /** Hidden from clients. */
  deleted: z.boolean(),
  /** The model that serves, and its default resolution where that is known. */
  model: z.string(),
  default_resolution: z.string().nullable(),
  /** The upstream that is asked or has the job; `job` is its own name for it. */
  attempt: z.object({ model: z.string(), upstream, job: z.string().nullable() }).nullable(),
  /** Upstreams that were asked and did not take it. */
  attempts: z.array(logAttempt),
  /** Starts of the current attempt with an unknown outcome, and polls of the job since it began. */
  starts: z.int().nonnegative(),
  polls: z.int().nonnegative(),
  lease: z.object({ owner: z.string(), until: z.iso.datetime() }).nullable(),
  next_at: z.iso.datetime(),
  /** Nano-dollars given back: for a cheaper model, and in all. */
  difference_nano: z.string(),
  refunded_nano: z.string(),
  result: videoResult.nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  started_at: z.iso.datetime().nullable(),
  ended_at: z.iso.datetime().nullable(),
  unpublished_events: z.array(z.enum(VIDEO_EVENT_KINDS)),
  /** Of the request: a refund has the tags of its charge. */
  tags: tags.optional(),
});
export type VideoRecord = z.infer<typeof videoRecord>;

export function videoKey(org: string, id: string): string {
  return `${org}.${id}`;
}

/** Head of `video-worker.v1.videos.create`; its body is the caller's own bytes. The reply is the job as JSON. */
export const createVideoHead = z.object({
  ...chargedCall.shape,
  /** `model`, then `models`, in order, without repeats and without those that the key may not use. */
  models: z.array(z.string()).min(1),
  /** Bytes of the body: memory is reserved before it is requested. */
  body_bytes: z.int().nonnegative(),
});
export type CreateVideoHead = z.infer<typeof createVideoHead>;
export const VIDEO_CREATE_SUBJECT = 'video-worker.v1.videos.create';

/** Head of `video-worker.v1.videos.content`: a part of a result. The reply's body is its bytes. */
export const videoContentHead = z.object({
  org: z.string(),
  id: z.string(),
  /** Null: all. */
  range: askedRange.nullable(),
});
export type VideoContentHead = z.infer<typeof videoContentHead>;
export const VIDEO_CONTENT_SUBJECT = 'video-worker.v1.videos.content';

/** Head of the reply. */
export const videoContentReply = z.object({
  media_type: z.string(),
  /** Of the whole video. */
  bytes: z.int(),
  /** The part that follows; null: all. */
  part: contentPart.nullable(),
});
export type VideoContentReply = z.infer<typeof videoContentReply>;
