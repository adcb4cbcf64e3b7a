// A maker of videos through its AI SDK provider package, by `doStart` and `doStatus`: its own reference to the job is
// whatever the package calls an operation.
import { Readable } from 'node:stream';
import { AISDKError, type Experimental_VideoModelV4 as VideoModelV4 } from '@ai-sdk/provider';
import type { Upstream } from '@switchyard/contracts';
import { fetch as undiciFetch } from 'undici';
import type { AiSdkSurroundings } from '../ai-sdk/ai-sdk-maker.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { type Said, saidBy } from '../ai-sdk/errors.ts';
import { providerFetch, rawMembers, type WireMembers } from '../ai-sdk/provider-fetch.ts';
import { notTaken, ofNetwork } from './start-error.ts';
import type { VideoJob, VideoMaker, VideoProgress } from './video-maker.ts';
import { sizeText, videoSize } from './video-size.ts';

/** Objects in makers' bodies that hold settings: Google's, Replicate's. */
const CONTAINERS = ['parameters', 'input'] as const;
const ANSWER_TIMEOUT_MS = 30_000;
/** The packages' own name for a job that is done and has no video: blocked by the maker, as a rule. */
const ENDED_WITHOUT_VIDEO = /_VIDEO_GENERATION_ERROR$/;
const MESSAGE_LENGTH_MAX = 1_000;

type Operation = Awaited<ReturnType<NonNullable<VideoModelV4['doStart']>>>['operation'];
type Data = Extract<
  Awaited<ReturnType<NonNullable<VideoModelV4['doStatus']>>>,
  { status: 'completed' }
>['videos'][number];

export function aiSdkVideos(declaration: MakerDeclaration, on: AiSdkSurroundings): VideoMaker {
  return {
    // None of these makers promises that a second start with the same key is the same job.
    startIsIdempotent: () => false,
    async start(upstream, job, signal) {
      const fetch = fetchOf(on, job.id, membersOf(declaration, job));
      return start(await modelOf(declaration, on, upstream, fetch), declaration, upstream, job, on, signal);
    },
    async status({ id, upstream, job }, _input, signal) {
      const fetch = knowing(fetchOf(on, id, new Map()));
      return status(await modelOf(declaration, on, upstream, fetch), job, on, signal);
    },
  };
}

function fetchOf(on: AiSdkSurroundings, requestId: string, members: WireMembers): typeof globalThis.fetch {
  return providerFetch({ dispatcher: on.dispatcher, requestId, members, places: { containers: CONTAINERS } });
}

/** The caller's `provider_options`, and fields of ours that the AI SDK's interface does not carry to this maker. */
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
  return rawMembers(Buffer.from(JSON.stringify({ ...sent, ...job.providerOptions })));
}

/** Some packages take any error of a look for the end of the job: one that is the maker's own trouble is thrown here. */
function knowing(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.status < 500 && response.status !== 429 && response.status !== 408) return response;
    await response.body?.cancel();
    throw new Error(`the upstream answered ${response.status} when asked how the job stands`);
  };
}

/** @throws Error where the package has no videos, or none that can be looked at later. */
async function modelOf(
  { name, baseUrl, apiKeyEnv, create }: MakerDeclaration,
  on: AiSdkSurroundings,
  upstream: Upstream,
  fetch: typeof globalThis.fetch,
): Promise<Required<Pick<VideoModelV4, 'doStart' | 'doStatus'>>> {
  const models = await create({
    baseURL: (upstream.base_url ?? baseUrl).replace(/\/$/, ''),
    apiKey: on.secret(upstream.api_key_env ?? apiKeyEnv) ?? '',
    headers: {},
    fetch,
  });
  const model = models.video?.(upstream.model);
  if (!model?.doStart || !model.doStatus) throw new Error(`the adapter ${name} does not serve video models`);
  return { doStart: model.doStart.bind(model), doStatus: model.doStatus.bind(model) };
}

async function start(
  { doStart }: Required<Pick<VideoModelV4, 'doStart'>>,
  { namesResolutions }: MakerDeclaration,
  upstream: Upstream,
  job: VideoJob,
  { now }: AiSdkSurroundings,
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
      // On the wire by the fetch, unchanged: the package would drop what it does not know.
      providerOptions: {},
      headers: { 'idempotency-key': job.id },
      abortSignal: AbortSignal.any([signal, AbortSignal.timeout(upstream.attempt_timeout_ms)]),
    });
    return JSON.stringify(operation);
  } catch (error) {
    const said = answerIn(error, now);
    if (!said) throw ofNetwork(error);
    const { message, code, param } = said;
    const body = Buffer.from(JSON.stringify({ error: { message, code, param } }));
    throw notTaken(said.status, body, said.retryAfterS);
  }
}

/** What the maker itself said of it; null where it was not the maker that spoke. */
function answerIn(error: unknown, now: () => number): Said | null {
  try {
    return saidBy(error, now);
  } catch {
    return null;
  }
}

async function status(
  { doStatus }: Required<Pick<VideoModelV4, 'doStatus'>>,
  job: string,
  { now, dispatcher }: AiSdkSurroundings,
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
      return { state: 'failed', message: error.message.slice(0, MESSAGE_LENGTH_MAX) };
    if (answerIn(error, now)?.status === 404)
      return { state: 'failed', message: 'the maker does not know the job any more' };
    throw error;
  }
  if (progress.status === 'pending') return { state: 'pending' };
  if (progress.status === 'error') return { state: 'failed', message: progress.error };
  const [video] = progress.videos;
  if (!video) return { state: 'failed', message: 'the maker completed the job without a video' };
  return { state: 'completed', mediaType: video.mediaType, bytes: await bytesOf(video, dispatcher, signal) };
}

async function bytesOf(
  video: Data,
  dispatcher: AiSdkSurroundings['dispatcher'],
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  switch (video.type) {
    case 'binary':
      return Readable.from([Buffer.from(video.data)]);
    case 'base64':
      return Readable.from([Buffer.from(video.data, 'base64')]);
    case 'url': {
      const response = await undiciFetch(video.url, { dispatcher, signal });
      if (response.ok && response.body) return Readable.fromWeb(response.body);
      await response.body?.cancel();
      throw new Error(`the maker answered ${response.status} when asked for the video`);
    }
    case 'uploaded':
      throw new Error('the maker has put the video elsewhere');
    default:
      throw new Error(`a video of a kind that nobody knows: ${String(video satisfies never)}`);
  }
}
