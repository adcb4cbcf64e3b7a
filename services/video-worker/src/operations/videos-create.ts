// videos.create: validates, stores the input, and publishes one event, which is both the charge and the job. A crash
// before the event leaves only an input that expires; after the event, the job exists.
import type { IncomingCall } from '@switchyard/bus';
import {
  type CreateVideoHead,
  createVideoHead,
  type Event,
  eventIds,
  fromZodError,
  MODEL_BODY_BYTES_MAX,
  MODEL_TYPES,
  makeEvent,
  newVideoId,
  ServiceError,
  type VideosRequest,
  type VideoView,
  videosRequest,
} from '@switchyard/contracts';
import { makerOf, parseExactly, type VideoImage } from '@switchyard/model-router/video';
import { LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import type { InputSummary } from '../input/input-store.ts';
import { DOWNLOAD_BYTES_MAX, isRemote, readPicture } from '../input/picture.ts';
import { EVENT_SOURCE } from '../jobs/job-deps.ts';
import { ensureRecord, newRecord } from '../jobs/new-record.ts';
import { type Offer, offersFor } from '../offer/offers.ts';
import { defaultResolutionOf } from '../offer/video-limits.ts';
import { showVideo } from '../show-video.ts';
import { requireBelowOpenLimits, requireStorageFor } from './open-limits.ts';
import type { VideoOperations } from './video-operations.ts';

const PATH = MODEL_TYPES.video.endpoint.slice('POST '.length);

/** Copies of a body in memory: its bytes, their text, the parsed values, and the decoded first frame. */
const COPIES = 4;

export function createVideo(deps: VideoOperations) {
  return async (call: IncomingCall): Promise<void> => {
    const head = createVideoHead.parse(call.head);
    const { org, body_bytes: bytes } = head;
    const { signal } = call;
    const bodyMemory = bytes > LARGE_BODY_BYTES_MIN ? COPIES * bytes : 0;
    const take = (memory: number) => deps.largeBodies.take(memory, { org, signal });
    // Includes a picture to download: a second reservation would wait while the first is held, maybe for itself.
    let place = bodyMemory > 0 ? await take(bodyMemory + DOWNLOAD_BYTES_MAX) : null;
    try {
      const request = readRequest(await call.readBody(MODEL_BODY_BYTES_MAX));
      const { image: picture, callback_url: callbackUrl } = request;
      const isDownload = typeof picture === 'string' && isRemote(picture);
      if (!isDownload) place?.keep(bodyMemory);
      const offers = offersFor(deps.catalog, head, request);
      requireBelowOpenLimits(deps, org);
      await requireStorageFor(deps, org);
      if (callbackUrl) await deps.egress.check(callbackUrl, { param: 'callback_url', signal });
      if (isDownload) place ??= await take(DOWNLOAD_BYTES_MAX);
      const keep = (memory: number) => place?.keep(bodyMemory + memory);
      const image = picture ? await readPicture(picture, { egress: deps.egress, signal, keep }) : null;
      const view = await takeJob(deps, { head, request, offers, image, signal });
      call.end(null, Buffer.from(JSON.stringify(view)));
    } finally {
      place?.release();
    }
  };
}

interface CheckedCall {
  head: CreateVideoHead;
  request: VideosRequest;
  offers: [Offer, ...Offer[]];
  image: VideoImage | null;
  signal: AbortSignal;
}

async function takeJob(deps: VideoOperations, checked: CheckedCall): Promise<VideoView> {
  const { head, request, offers, image, signal } = checked;
  const event = chargeEvent(deps, head, request, offers, image);
  const work = { event, limited: head.limited, signal };
  const input = await deps.holds.runWithHold(work, () => publishJob(deps, event, request, image, signal));
  return showVideo(newRecord(event, input), deps.clock.now());
}

async function publishJob(
  deps: VideoOperations,
  event: Event<'video.charged'>,
  request: VideosRequest,
  image: VideoImage | null,
  signal: AbortSignal,
): Promise<InputSummary> {
  const { video_id: id } = event.data;
  const input = await deps.inputs.put(id, request, image);
  if (signal.aborted) {
    await deps.inputs.delete(id);
    throw signal.reason; // the caller is gone and would never learn of the job
  }
  await deps.events.publish(event);
  await ensureRecord(deps, event, input).catch((error: unknown) =>
    deps.logger.warn({ err: error, video: id }, 'the record of a video will be made from its event'),
  );
  return input;
}

/** @throws ServiceError `invalid_json`, `invalid_request` */
function readRequest(body: Buffer): VideosRequest {
  const text = body.toString('utf8');
  let json: unknown;
  try {
    json = parseExactly(text);
  } catch (cause) {
    throw new ServiceError(
      'invalid_json',
      `The body is not JSON (${(cause as Error).message}). Send valid JSON.`,
      { cause },
    );
  }
  const parsed = videosRequest.safeParse(json);
  if (parsed.success) return parsed.data;
  // Large integers are objects there: an error should be about the numbers.
  throw fromZodError(videosRequest.safeParse(JSON.parse(text)).error ?? parsed.error);
}

function chargeEvent(
  deps: VideoOperations,
  head: CreateVideoHead,
  request: VideosRequest,
  offers: [Offer, ...Offer[]],
  image: VideoImage | null,
): Event<'video.charged'> {
  const { request_id, org, key_id, models, received_at, tags, client_request_id, traceparent } = head;
  const [first] = offers;
  const now = deps.clock.now();
  const id = newVideoId(now);
  return makeEvent({
    name: 'video.charged',
    id: eventIds.videoCharge(id),
    source: EVENT_SOURCE,
    time: new Date(now),
    markup: head.markup_percent,
    data: {
      video_id: id,
      ...{ request_id, org, key_id },
      path: PATH,
      requested_model: models[0] ?? first.model.id,
      model: first.model.id,
      maker: makerOf(first.model),
      candidates: offers.map(({ model, costNano }) => ({ model: model.id, cost_nano: costNano.toString() })),
      duration: request.duration,
      resolution: request.resolution ?? null,
      default_resolution: defaultResolutionOf(first.model),
      image_bytes: image?.bytes.length ?? 0,
      deadline_at: new Date(now + deps.jobMsMax).toISOString(),
      cost_nano: first.costNano.toString(),
      lines: first.lines,
      latency_ms: Math.max(0, now - received_at),
      ...{ tags, client_request_id, traceparent },
    },
  });
}
