// A video maker that is called through its AI SDK provider package, with `doStart` and `doStatus`. The package's
// operation is the reference to the job.
import { Readable } from 'node:stream';
import { AISDKError, type Experimental_VideoModelV4 as VideoModelV4 } from '@ai-sdk/provider';
import type { Upstream } from '@switchyard/contracts';
import { type MakerDeclaration, modelsOf } from '../ai-sdk/declaration.ts';
import { failureOfMaker } from '../ai-sdk/errors.ts';
import { providerFetch, rawMembers, type WireMembers } from '../ai-sdk/provider-fetch.ts';
import type { Failure } from '../failure.ts';
import type { ConnectedDeps } from '../maker.ts';
import { download, videoBytes } from './download.ts';
import { JOB_LOST, ofMaker, ofNetwork } from './start-error.ts';
import type { VideoJob, VideoMaker, VideoProgress } from './video-maker.ts';
import { sizeText, videoSize } from './video-size.ts';
import { videoType } from './video-type.ts';

/** Objects in makers' bodies that hold settings: Google's, Replicate's. */
const CONTAINERS = ['parameters', 'input'] as const;
const ANSWER_TIMEOUT_MS = 30_000;
/** The packages' error name for a finished job without a video, usually blocked by the maker. */
const ENDED_WITHOUT_VIDEO = /_VIDEO_GENERATION_ERROR$/;

/** Statuses below 500 that say nothing about the job: our key, its quota, or the maker's time. */
const NOT_ABOUT_JOB: readonly number[] = [401, 403, 408, 429];

interface StatusCheck {
  readonly fetch: typeof globalThis.fetch;
  /** Error of the fetch; null when there was none. */
  readonly failure: () => unknown;
}

interface StatusDeps extends ConnectedDeps {
  /** Base URL of the maker. */
  readonly base: string;
  readonly check: StatusCheck;
}

type Operation = Awaited<ReturnType<NonNullable<VideoModelV4['doStart']>>>['operation'];
type Data = Extract<
  Awaited<ReturnType<NonNullable<VideoModelV4['doStatus']>>>,
  { status: 'completed' }
>['videos'][number];

export function aiSdkVideos(declaration: MakerDeclaration, deps: ConnectedDeps): VideoMaker {
  return {
    // None of these makers guarantees that a second start with the same key returns the same job.
    startIsIdempotent: () => false,
    async start(upstream, job, signal) {
      const base = baseOf(declaration, upstream);
      const fetch = fetchOf(deps, base, job.id, membersOf(declaration, job));
      return start(
        await modelOf(declaration, deps, upstream, fetch),
        declaration,
        upstream,
        job,
        deps,
        signal,
      );
    },
    async status({ id, upstream, job }, _input, signal) {
      const base = baseOf(declaration, upstream);
      const check = statusCheck(fetchOf(deps, base, id, new Map()));
      const model = await modelOf(declaration, deps, upstream, check.fetch);
      return status(model, job, { ...deps, base, check }, signal);
    },
  };
}

function baseOf({ baseUrl }: MakerDeclaration, upstream: Upstream): string {
  return upstream.base_url ?? baseUrl;
}

function fetchOf(
  { dispatcher, egress }: ConnectedDeps,
  base: string,
  requestId: string,
  members: WireMembers,
): typeof globalThis.fetch {
  return providerFetch({
    ...{ dispatcher, egress, base },
    requestId,
    members,
    places: { containers: CONTAINERS },
    streams: false,
  });
}

/** The caller's further fields and `provider_options`, and our fields that the AI SDK's interface lacks for this maker. */
function membersOf({ fields }: MakerDeclaration, job: VideoJob): WireMembers {
  const ours: Readonly<Record<string, unknown>> = {
    resolution: job.resolution,
    aspect_ratio: job.aspectRatio,
    generate_audio: job.generateAudio,
    seed: job.seed,
  };
  const sent: Record<string, unknown> = {};
  for (const [name, as] of Object.entries(fields?.video?.sent ?? {})) {
    const value = ours[name] ?? null;
    if (value !== null) Object.assign(sent, typeof as === 'string' ? { [as]: value } : as(value));
  }
  return rawMembers(Buffer.from(JSON.stringify({ ...job.further, ...sent, ...job.providerOptions })));
}

/** Its fetch throws for an answer that is cut or says nothing about the job, and keeps that error. */
function statusCheck(fetch: typeof globalThis.fetch): StatusCheck {
  let failure: unknown = null;
  return {
    async fetch(input, init) {
      try {
        const response = await fetch(input, init);
        const { status, body } = response;
        if (status < 500 && !NOT_ABOUT_JOB.includes(status))
          return new Response(body && (await response.arrayBuffer()), response);
        await body?.cancel();
        throw new Error(`The maker answered ${status} to the status check of the job.`);
      } catch (error) {
        failure = error;
        throw error;
      }
    },
    failure: () => failure,
  };
}

/** @throws Error when the package has no videos, or no status checks for them. */
async function modelOf(
  declaration: MakerDeclaration,
  { secret }: ConnectedDeps,
  upstream: Upstream,
  fetch: typeof globalThis.fetch,
): Promise<Required<Pick<VideoModelV4, 'doStart' | 'doStatus'>>> {
  const models = await modelsOf(declaration, upstream, { secret, fetch });
  const model = models.video?.(upstream.model);
  if (!model?.doStart || !model.doStatus)
    throw new Error(`the adapter ${declaration.name} does not serve video models`);
  return { doStart: model.doStart.bind(model), doStatus: model.doStatus.bind(model) };
}

async function start(
  { doStart }: Required<Pick<VideoModelV4, 'doStart'>>,
  { namesResolutions }: MakerDeclaration,
  upstream: Upstream,
  job: VideoJob,
  { now }: ConnectedDeps,
  signal: AbortSignal,
): Promise<string> {
  const size = videoSize(job.resolution, namesResolutions ? null : job.aspectRatio);
  try {
    const { operation } = await doStart({
      prompt: job.prompt,
      n: 1,
      aspectRatio: (job.aspectRatio as `${number}:${number}` | null) ?? undefined,
      resolution: size ? (sizeText(size) as `${number}x${number}`) : undefined,
      duration: job.duration,
      fps: undefined,
      seed: job.seed ?? undefined,
      image: job.image ? { type: 'file', mediaType: job.image.mediaType, data: job.image.bytes } : undefined,
      frameImages: undefined,
      inputReferences: undefined,
      generateAudio: job.generateAudio ?? undefined,
      // The fetch adds them to the request unchanged, since the package would drop unknown members.
      providerOptions: {},
      headers: { 'idempotency-key': job.id },
      abortSignal: AbortSignal.any([signal, AbortSignal.timeout(upstream.attempt_timeout_ms)]),
    });
    return JSON.stringify(operation);
  } catch (error) {
    const failure = failureIn(error, now);
    throw failure ? ofMaker(failure) : ofNetwork(error);
  }
}

/** The maker's own error; null when the error is not from the maker. */
function failureIn(error: unknown, now: () => number): Failure | null {
  try {
    return failureOfMaker(error, now);
  } catch {
    return null;
  }
}

async function status(
  { doStatus }: Required<Pick<VideoModelV4, 'doStatus'>>,
  job: string,
  deps: StatusDeps,
  signal: AbortSignal,
): Promise<VideoProgress> {
  let progress: Awaited<ReturnType<typeof doStatus>>;
  try {
    progress = await doStatus({
      operation: JSON.parse(job) as Operation,
      abortSignal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    });
  } catch (error) {
    if (AISDKError.isInstance(error) && ENDED_WITHOUT_VIDEO.test(error.name))
      return { state: 'failed', message: error.message };
    if (failureIn(error, deps.now)?.status === 404) return { state: 'failed', message: JOB_LOST };
    throw error;
  }
  if (progress.status === 'pending') return { state: 'pending' };
  if (progress.status === 'error') {
    const failure = deps.check.failure(); // some packages treat a failed check as the end of the job
    if (failure !== null) throw failure;
    return { state: 'failed', message: progress.error };
  }
  const [video] = progress.videos;
  if (!video) return { state: 'failed', message: 'The maker completed the job without a video.' };
  return {
    state: 'completed',
    mediaType: videoType(video.mediaType),
    bytes: await bytesOf(video, deps, signal),
  };
}

async function bytesOf(
  video: Data,
  deps: StatusDeps,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  switch (video.type) {
    case 'binary':
      return Readable.from([Buffer.from(video.data)]);
    case 'base64':
      return Readable.from([Buffer.from(video.data, 'base64')]);
    case 'url':
      return videoBytes(await download(video.url, deps.base, deps, signal));
    case 'uploaded':
      throw new Error('The maker stored the video where it cannot be downloaded.');
    default:
      throw new Error(`unknown kind of video: ${String(video satisfies never)}`);
  }
}
