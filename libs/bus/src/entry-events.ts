// Events that an entry of a bucket carries in a header: the write and its events are one message, so that a process that
// dies right after the write leaves them to be published.
import type { JsMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/nats-core';
import { type Event, parseEvent } from '@switchyard/contracts';
import { isEntry } from './entry-headers.ts';

export const EVENTS_HEADER = 'Switchyard-Events';

/** The events of the message with these headers; none when they are those of another release. */
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
