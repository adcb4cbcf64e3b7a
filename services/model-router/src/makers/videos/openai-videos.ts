// Upstreams that make videos in OpenAI's shape: POST /videos, GET /videos/{id}, GET /videos/{id}/content,
// DELETE /videos/{id} (https://platform.openai.com/docs/api-reference/videos). The request has OpenAI's fields (`seconds`,
// `size`, `input_reference`) and ours. A finished job may include its video in `videos`.
import { Readable } from 'node:stream';
import type { Upstream } from '@switchyard/contracts';
import { type RequestInit, type Response, fetch as undiciFetch } from 'undici';
import { z } from 'zod';
import { readBody } from '../../http/read-body.ts';
import { readRetryAfter } from '../../http/retry-after.ts';
import { withinOrigin } from '../../http/within-origin.ts';
import { failureOfAnswer } from '../failure.ts';
import type { ConnectedDeps } from '../maker.ts';
import { download, videoBytes } from './download.ts';
import { JOB_LOST, ofMaker, ofNetwork } from './start-error.ts';
import type { TakenVideo, VideoJob, VideoMaker, VideoProgress } from './video-maker.ts';
import { sizeText, videoSize } from './video-size.ts';
import { videoType } from './video-type.ts';

/** For all requests except a start, which uses the upstream's own timeout, and a download, which the worker times. */
const ANSWER_TIMEOUT_MS = 30_000;
/** Maximum size of an answer other than a video; it may hold a video in base64. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
const ERROR_BYTES_MAX = 64 * 1024;

const PENDING = new Set(['queued', 'in_progress', 'pending', 'processing', 'running', 'starting']);
const COMPLETED = new Set(['completed', 'succeeded']);

const answerSchema = z.looseObject({
  id: z.string().min(1),
  status: z.string(),
  error: z.union([z.string(), z.looseObject({ message: z.string().nullish() })]).nullish(),
  videos: z
    .array(
      z.looseObject({
        media_type: z.string().nullish(),
        url: z.string().nullish(),
        b64_json: z.string().nullish(),
      }),
    )
    .nullish(),
});
type Answer = z.infer<typeof answerSchema>;

export function openAiVideos(deps: ConnectedDeps): VideoMaker {
  return {
    startIsIdempotent: (upstream) => upstream.idempotent_starts === true,
    start: (upstream, job, signal) => start(deps, upstream, job, signal),
    status: (taken, _input, signal) => status(deps, taken, signal),
    async cancel({ upstream, job }, signal) {
      const response = await ask(deps, upstream, `/videos/${encodeURIComponent(job)}`, {
        method: 'DELETE',
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
      });
      await response.body?.cancel();
    },
  };
}

async function start(
  deps: ConnectedDeps,
  upstream: Upstream,
  job: VideoJob,
  signal: AbortSignal,
): Promise<string> {
  let response: Response;
  try {
    response = await ask(deps, upstream, '/videos', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': job.id },
      body: JSON.stringify(requestBody(upstream, job)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(upstream.attempt_timeout_ms)]),
    });
  } catch (error) {
    throw ofNetwork(error);
  }
  if (!response.ok)
    throw ofMaker(
      failureOfAnswer(
        response.status,
        await readBody(response, ERROR_BYTES_MAX).catch(() => Buffer.alloc(0)), // the status alone decides
        readRetryAfter(Object.fromEntries(response.headers), deps.now),
      ),
    );
  return answerSchema.parse(await readJson(response)).id;
}

/** Sends OpenAI's and our fields for the same values; omits fields that the caller did not give. */
function requestBody(upstream: Upstream, job: VideoJob): Record<string, unknown> {
  const size = videoSize(job.resolution, job.aspectRatio);
  const image = job.image && `data:${job.image.mediaType};base64,${job.image.bytes.toString('base64')}`;
  const given = {
    size: size && sizeText(size),
    resolution: job.resolution,
    aspect_ratio: job.aspectRatio,
    generate_audio: job.generateAudio,
    image,
    input_reference: image && { image_url: image },
    seed: job.seed,
    provider_options: Object.keys(job.providerOptions).length > 0 ? job.providerOptions : null,
  };
  return {
    ...job.further,
    model: upstream.model,
    prompt: job.prompt,
    seconds: String(job.duration),
    duration: job.duration,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)),
  };
}

async function status(deps: ConnectedDeps, taken: TakenVideo, signal: AbortSignal): Promise<VideoProgress> {
  const path = `/videos/${encodeURIComponent(taken.job)}`;
  const response = await ask(deps, taken.upstream, path, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
  });
  if (response.status === 404) {
    await response.body?.cancel();
    return { state: 'failed', message: JOB_LOST };
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The maker answered ${response.status} to the status check of the job.`);
  }
  const answer = answerSchema.parse(await readJson(response));
  if (PENDING.has(answer.status)) return { state: 'pending' };
  if (!COMPLETED.has(answer.status)) return { state: 'failed', message: reasonOf(answer) };
  return fetchVideo(deps, taken, answer, signal);
}

function reasonOf({ error, status }: Answer): string {
  const said = typeof error === 'string' ? error : error?.message;
  return said || `The maker ended the job with status ${status}.`;
}

async function fetchVideo(
  deps: ConnectedDeps,
  { upstream, job }: TakenVideo,
  { videos }: Answer,
  signal: AbortSignal,
): Promise<VideoProgress> {
  const [video] = videos ?? [];
  if (video?.b64_json) {
    const bytes = Readable.from([Buffer.from(video.b64_json, 'base64')]);
    return { state: 'completed', mediaType: videoType(video.media_type), bytes };
  }
  const response = video?.url
    ? await download(new URL(video.url, upstream.base_url), upstream.base_url as string, deps, signal)
    : await ask(deps, upstream, `/videos/${encodeURIComponent(job)}/content`, { signal });
  const bytes = await videoBytes(response);
  const said = video?.media_type ?? response.headers.get('content-type');
  return { state: 'completed', mediaType: videoType(said), bytes };
}

/** Sends a request to an upstream with its key. */
function ask(
  { secret, dispatcher }: ConnectedDeps,
  upstream: Upstream,
  path: string,
  init: RequestInit,
): Promise<Response> {
  const key = upstream.api_key_env === undefined ? undefined : secret(upstream.api_key_env);
  return withinOrigin(`${upstream.base_url?.replace(/\/$/, '')}${path}`, init.method, (url) =>
    undiciFetch(url, {
      ...init,
      headers: {
        ...(init.headers as Record<string, string> | undefined),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      dispatcher,
      redirect: 'manual',
    }),
  );
}

async function readJson(response: Response): Promise<unknown> {
  return JSON.parse((await readBody(response, ANSWER_BYTES_MAX)).toString('utf8'));
}
