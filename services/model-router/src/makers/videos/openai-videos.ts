// Upstreams that make videos in OpenAI's shape: POST /videos, GET /videos/{id}, GET /videos/{id}/content,
// DELETE /videos/{id} (https://platform.openai.com/docs/api-reference/videos). The request names the length and the size
// in OpenAI's words (`seconds`, `size`, `input_reference`) and in ours, and answers are read in either: a finished job
// may bring its video along in `videos`.
import { Readable } from 'node:stream';
import type { Upstream } from '@switchyard/contracts';
import { type Dispatcher, type RequestInit, type Response, fetch as undiciFetch } from 'undici';
import { z } from 'zod';
import { notTaken, ofNetwork } from './start-error.ts';
import type { TakenVideo, VideoJob, VideoMaker, VideoProgress } from './video-maker.ts';
import { sizeText, videoSize } from './video-size.ts';

/** For everything but a start, which has the upstream's own clock, and a download, which the worker times. */
const ANSWER_TIMEOUT_MS = 30_000;
/** Bytes of an answer that is no video: a video in base64 may be in it. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
const ERROR_BYTES_MAX = 64 * 1024;
const MEDIA_TYPE_DEFAULT = 'video/mp4';

export interface OpenAiVideosOptions {
  /** Reads an upstream's credentials by the name of their variable. */
  secret(name: string): string | undefined;
  dispatcher: Dispatcher;
}

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

export function openAiVideos(options: OpenAiVideosOptions): VideoMaker {
  const on = new Calls(options);
  return {
    startIsIdempotent: (upstream) => upstream.idempotent_starts === true,
    start: (upstream, job, signal) => start(on, upstream, job, signal),
    status: (taken, _input, signal) => status(on, taken, signal),
    async cancel({ upstream, job }, signal) {
      const response = await on.call(upstream, `/videos/${encodeURIComponent(job)}`, {
        method: 'DELETE',
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
      });
      await response.body?.cancel();
    },
  };
}

async function start(on: Calls, upstream: Upstream, job: VideoJob, signal: AbortSignal): Promise<string> {
  let response: Response;
  try {
    response = await on.call(upstream, '/videos', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': job.id },
      body: JSON.stringify(requestBody(upstream, job)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(upstream.attempt_timeout_ms)]),
      redirect: 'error', // it would carry our key to wherever it points
    });
  } catch (error) {
    throw ofNetwork(error);
  }
  if (!response.ok)
    throw notTaken(response.status, await readBytes(response, ERROR_BYTES_MAX), retryAfterS(response));
  return answerSchema.parse(await readJson(response)).id;
}

/** Fields of OpenAI's and ours for the same things; what the caller did not give is left out. */
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

async function status(on: Calls, taken: TakenVideo, signal: AbortSignal): Promise<VideoProgress> {
  const path = `/videos/${encodeURIComponent(taken.job)}`;
  const response = await on.call(taken.upstream, path, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
  });
  if (response.status === 404) {
    await response.body?.cancel();
    return { state: 'failed', message: 'the maker does not know the job any more' };
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the upstream answered ${response.status} when asked how the job stands`);
  }
  const answer = answerSchema.parse(await readJson(response));
  if (PENDING.has(answer.status)) return { state: 'pending' };
  if (!COMPLETED.has(answer.status)) return { state: 'failed', message: reasonOf(answer) };
  return fetchVideo(on, taken, answer, signal);
}

function reasonOf({ error, status }: Answer): string {
  const said = typeof error === 'string' ? error : error?.message;
  return said || `the maker ended the job as ${status}`;
}

async function fetchVideo(
  on: Calls,
  { upstream, job }: TakenVideo,
  { videos }: Answer,
  signal: AbortSignal,
): Promise<VideoProgress> {
  const [video] = videos ?? [];
  if (video?.b64_json) {
    const bytes = Buffer.from(video.b64_json, 'base64');
    return { state: 'completed', mediaType: video.media_type ?? MEDIA_TYPE_DEFAULT, bytes: once(bytes) };
  }
  const response = video?.url
    ? await on.download(new URL(video.url, upstream.base_url), signal)
    : await on.call(upstream, `/videos/${encodeURIComponent(job)}/content`, { signal });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new Error(`the upstream answered ${response.status} when asked for the video`);
  }
  const said = response.headers.get('content-type')?.split(';')[0]?.trim();
  const mediaType = video?.media_type ?? (said?.startsWith('video/') ? said : MEDIA_TYPE_DEFAULT);
  return { state: 'completed', mediaType, bytes: Readable.fromWeb(response.body) };
}

/** Requests to upstreams: with their key, on connections of ours. */
class Calls {
  readonly #on: OpenAiVideosOptions;

  constructor(on: OpenAiVideosOptions) {
    this.#on = on;
  }

  call(upstream: Upstream, path: string, init: RequestInit): Promise<Response> {
    const key = upstream.api_key_env === undefined ? undefined : this.#on.secret(upstream.api_key_env);
    return undiciFetch(`${upstream.base_url?.replace(/\/$/, '')}${path}`, {
      ...init,
      headers: {
        ...(init.headers as Record<string, string> | undefined),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      dispatcher: this.#on.dispatcher,
    });
  }

  /** Of an address that an upstream named: without its key, which is for the upstream alone. */
  download(url: URL, signal: AbortSignal): Promise<Response> {
    return undiciFetch(url, { signal, dispatcher: this.#on.dispatcher });
  }
}

async function readJson(response: Response): Promise<unknown> {
  return JSON.parse((await readBytes(response, ANSWER_BYTES_MAX)).toString('utf8'));
}

/** @throws Error when there are more. */
async function readBytes(response: Response, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`the answer is over ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function retryAfterS(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return seconds > 0 ? seconds : null;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
