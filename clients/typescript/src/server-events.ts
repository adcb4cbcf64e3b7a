// Server-sent events of an answer as an async iterable.
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';

/** Returns the events of a body that was asked for with `parseAs: 'stream'`. Leaving the loop ends the request. */
export function serverEvents(body: ReadableStream<Uint8Array> | null): AsyncIterable<EventSourceMessage> {
  if (body === null) throw new Error('The answer has no body.');
  const text = new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>;
  return body.pipeThrough(text).pipeThrough(new EventSourceParserStream());
}
