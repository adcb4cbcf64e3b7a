// What the events of a video job mean to billing: its charge is a call, its refund a row of its own that names the
// charge. A failed video is the two of them, and adds up to nothing.
import { type Event, eventIds } from '@switchyard/contracts';
import type { Dimensions, LogRow } from './documents.ts';
import type { Occurrence } from './entries.ts';
import { assertId, nonNegativeNanos } from './event-checks.ts';
import { negateQuantities, storeQuantities } from './quantities.ts';
import { ratesOf } from './rates.ts';

const VIDEO_TYPE = 'video';
const HTTP_ACCEPTED = 202;

/** @throws RangeError when the event contradicts itself, or holds a figure that cannot be booked. */
export function videoCharge(event: Event<'video.charged'>): Occurrence {
  const { data } = event;
  assertId(event, eventIds.videoCharge(data.video_id));
  const at = new Date(event.time);
  const cost = nonNegativeNanos(data.cost_nano);
  const quantities = storeQuantities({ seconds: data.duration });
  const dimensions = dimensionsOf(event);
  return {
    what: 'occurrence',
    log: {
      ...logOf(event, dimensions),
      _id: data.request_id,
      source: 'video.charged',
      charge: event.id,
      kind: 'call',
      http_status: HTTP_ACCEPTED,
      path: data.path,
      requested_model: data.requested_model,
      models: [...new Set([data.requested_model, data.model])],
      cost,
      quantities,
      latency_ms: data.latency_ms,
    },
    charge: {
      _id: event.id,
      kind: 'video',
      at,
      ...dimensions,
      calls: 1n,
      cost,
      quantities,
      ...ratesOf(data.lines),
    },
  };
}

/** @throws RangeError when the event contradicts itself, or holds a figure that cannot be booked. */
export function videoRefund(event: Event<'video.refunded'>): Occurrence {
  const { data } = event;
  const { videoRefund: whole, videoDifference: part } = eventIds;
  assertId(event, (data.reason === 'cheaper_model' ? part : whole)(data.video_id));
  const cost = -nonNegativeNanos(data.cost_nano);
  const quantities = negateQuantities(storeQuantities({ seconds: data.seconds }));
  const dimensions = dimensionsOf(event);
  return {
    what: 'occurrence',
    log: {
      ...logOf(event, dimensions),
      _id: event.id,
      source: 'video.refunded',
      kind: 'refund',
      http_status: null,
      path: null,
      requested_model: null,
      models: [data.model],
      cost,
      quantities,
      latency_ms: null,
      corrects: data.request_id,
    },
    charge: {
      _id: event.id,
      kind: 'refund',
      refunds: eventIds.videoCharge(data.video_id),
      at: new Date(event.time),
      ...dimensions,
      calls: 0n,
      cost,
      quantities,
    },
  };
}

function dimensionsOf({ data }: Event<'video.charged'> | Event<'video.refunded'>): Dimensions {
  const { org, key_id: key, model, maker } = data;
  return { org, key, type: VIDEO_TYPE, model, maker, computer: null, status: 'ok' };
}

/** What the log rows of both have in common. */
function logOf({ time, data }: Event<'video.charged'> | Event<'video.refunded'>, dimensions: Dimensions) {
  const row = {
    at: new Date(time),
    error_code: null,
    ...dimensions,
    status: 'ok',
    org: data.org,
    method: 'POST',
    stream: false,
    basis: null,
    first_byte_ms: null,
    attempts: [],
  } satisfies Partial<LogRow>;
  return row;
}
