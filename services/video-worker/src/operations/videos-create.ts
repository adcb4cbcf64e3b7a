// videos.create: check, keep what it is made from, and publish one event, which is both the charge and the job. Whoever
// dies before the event leaves nothing but an input that runs out; after it, the job is there whatever happens.
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
  videosRequest,
} from '@switchyard/contracts';
import { makerOf, type VideoImage } from '@switchyard/model-router/video';
import { readPicture } from '../input/picture.ts';
import { ensureRecord, newRecord } from '../jobs/new-record.ts';
import { EVENT_SOURCE } from '../jobs/surroundings.ts';
import { type Offer, offersFor } from '../offer/offers.ts';
import { defaultResolutionOf } from '../offer/video-limits.ts';
import { showVideo } from '../show-video.ts';
import type { VideoOperations } from './video-operations.ts';

const PATH = MODEL_TYPES.video.endpoint.slice('POST '.length);

export function createVideo(on: VideoOperations) {
  return async (call: IncomingCall): Promise<void> => {
    const head = createVideoHead.parse(call.head);
    const request = readRequest(await call.readBody(MODEL_BODY_BYTES_MAX));
    const offers = offersFor(on.catalog, request);
    const { callback_url: callbackUrl } = request;
    if (callbackUrl) await on.egress.check(callbackUrl, { param: 'callback_url', signal: call.signal });
    const image = request.image ? await readPicture(request.image, on.egress, call.signal) : null;
    const event = await chargeFor(on, head, request, offers, image, call.signal);
    const view = showVideo(newRecord(event, callbackUrl ?? null), on.clock.now());
    call.end(null, Buffer.from(JSON.stringify(view)));
  };
}

async function chargeFor(
  on: VideoOperations,
  head: CreateVideoHead,
  request: VideosRequest,
  offers: [Offer, ...Offer[]],
  image: VideoImage | null,
  signal: AbortSignal,
): Promise<Event<'video.charged'>> {
  const id = newVideoId(on.clock.now());
  await on.inputs.put(id, request, image);
  if (signal.aborted) {
    await on.inputs.delete(id);
    throw signal.reason; // nobody would ever hear of the job
  }
  const event = chargeEvent(on, id, head, request, offers);
  await on.events.publish(event);
  await ensureRecord(on, event).catch((error: unknown) =>
    on.logger.warn({ err: error, video: id }, 'the record of a video is made from its event later'),
  );
  return event;
}

/** @throws ServiceError `invalid_json`, `invalid_request` */
function readRequest(body: Buffer): VideosRequest {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new ServiceError('invalid_json', `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
  const parsed = videosRequest.safeParse(json);
  if (parsed.success) return parsed.data;
  throw fromZodError(parsed.error);
}

function chargeEvent(
  on: VideoOperations,
  id: string,
  { request_id, org, key_id, received_at }: CreateVideoHead,
  request: VideosRequest,
  offers: [Offer, ...Offer[]],
): Event<'video.charged'> {
  const [first] = offers;
  const now = on.clock.now();
  return makeEvent({
    name: 'video.charged',
    id: eventIds.videoCharge(id),
    source: EVENT_SOURCE,
    time: new Date(now),
    data: {
      video_id: id,
      ...{ request_id, org, key_id },
      path: PATH,
      requested_model: request.model ?? request.models?.[0] ?? first.model.id,
      model: first.model.id,
      maker: makerOf(first.model),
      candidates: offers.map(({ model, costNano }) => ({ model: model.id, cost_nano: costNano.toString() })),
      duration: request.duration,
      resolution: request.resolution ?? null,
      default_resolution: defaultResolutionOf(first.model),
      deadline_at: new Date(now + on.jobMsMax).toISOString(),
      cost_nano: first.costNano.toString(),
      lines: first.lines,
      latency_ms: Math.max(0, now - received_at),
    },
  });
}
