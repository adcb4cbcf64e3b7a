// Reads an event from a message of a stream, if a publisher meant it as one.
//
// Any user may name an event's subject as the reply of a request that it may make; the server then stores its answer in
// the stream of events, for example the value of a key that the user wrote itself. Publishers of events name the stream
// that they expect. JetStream stores such a message in no other stream, so no answer of the server can carry the header.
//
// nats-server checks who may publish on a subject, but not the message: an event must match its subject.
import type { JsMsg } from '@nats-io/jetstream';
import {
  type Event,
  eventSubject,
  eventSubjectOfHost,
  parseEvent,
  publishingHost,
} from '@switchyard/contracts';
import { EXPECTED_STREAM_HEADER } from './entry-headers.ts';

/** @throws RangeError for a message that was not published as this event; z.ZodError for one that is not valid */
export function readEvent(message: Pick<JsMsg, 'headers' | 'json' | 'subject'>): Event {
  const { headers, subject } = message;
  if (!headers?.has(EXPECTED_STREAM_HEADER))
    throw new RangeError(
      `an event without the header ${EXPECTED_STREAM_HEADER}: it was not published as one`,
    );
  const event = parseEvent(message.json());
  const own = eventSubject(event);
  if (subject !== own && subject !== eventSubjectOfHost(publishingHost(subject)))
    throw new RangeError(`an event for ${own} on ${subject}`);
  return event;
}
