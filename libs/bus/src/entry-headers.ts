// Distinguishes entries of buckets and object stores from answers that nats-server stored on behalf of a user.
//
// A user may give an entry's subject as the reply subject of a permitted request; nats-server then stores its answer
// there. So each entry names its stream in a header. JetStream refuses to store it in another stream, and answers of
// the server lack that header, or also name the subject that they were read from.
import type { JsMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/nats-core';
import { type Event, parseEvent } from '@switchyard/contracts';

export const EXPECTED_STREAM_HEADER = 'Nats-Expected-Stream';
/** In answers to direct requests: the subject of the stored message. */
const SUBJECT_HEADER = 'Nats-Subject';

/** nats-server itself leaves a marker with this header where the last message of a key expired. */
const MARKER_REASON_HEADER = 'Nats-Marker-Reason';

/** Whether a message with these headers was published to this subject as an entry of this stream. */
export function isEntry(headers: MsgHdrs | undefined, stream: string, subject: string): boolean {
  return headers?.get(EXPECTED_STREAM_HEADER) === stream && namesNoOther(headers, subject);
}

/** Whether nats-server left this message because the last one of its subject (entry or deletion marker) expired. */
export function isExpiry(headers: MsgHdrs | undefined, subject: string): boolean {
  if (!headers?.has(MARKER_REASON_HEADER)) return false;
  return namesNoOther(headers, subject);
}

function namesNoOther(headers: MsgHdrs, subject: string): boolean {
  return headers.values(SUBJECT_HEADER).every((value) => value === subject);
}

/**
 * The events that an entry carries. They are one message with the write, so that they can still be published if the
 * process dies right after it.
 */
export const EVENTS_HEADER = 'Switchyard-Events';

/** The events of the message with these headers; none when this release cannot parse them. */
export function eventsIn(headers: MsgHdrs | undefined): Event[] {
  const text = headers?.get(EVENTS_HEADER) ?? '';
  try {
    return text === '' ? [] : (JSON.parse(text) as unknown[]).map(parseEvent);
  } catch {
    return [];
  }
}

/** The events of an entry, or of the marker of its deletion, that a consumer of its bucket delivers. */
export function eventsOfEntry({ headers, subject }: Pick<JsMsg, 'headers' | 'subject'>): Event[] {
  const [, bucket] = subject.split('.');
  return isEntry(headers, `KV_${bucket}`, subject) ? eventsIn(headers) : [];
}
