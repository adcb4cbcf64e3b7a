// The answer of a local model as bytes: one JSON body, server-sent events, or a file that is streamed while it is made.
import type { LocalRefusal } from './local-refusal.ts';

export interface LocalAnswer {
  status: number;
  contentType: string;
  /** One JSON body, SSE chunks, or audio; ends early with the signal's reason when the caller leaves. */
  body: AsyncIterable<Uint8Array>;
}

const encoder = new TextEncoder();

export function jsonAnswer(value: unknown, status = 200): LocalAnswer {
  return { status, contentType: 'application/json', body: once(encoder.encode(JSON.stringify(value))) };
}

/** One `data:` event per value, then `[DONE]`; values are generated only as fast as they are read. */
export function eventStreamAnswer(events: Iterable<unknown>, signal: AbortSignal): LocalAnswer {
  return {
    status: 200,
    contentType: 'text/event-stream; charset=utf-8',
    body: serverSentEvents(events, signal),
  };
}

/** OpenAI's error body. */
export function refusalAnswer(refusal: LocalRefusal): LocalAnswer {
  const { message, param, code, status } = refusal;
  const type = status === 503 ? 'server_error' : 'invalid_request_error';
  return jsonAnswer({ error: { message, type, param, code } }, status);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* serverSentEvents(events: Iterable<unknown>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (const event of events) {
    signal.throwIfAborted();
    yield encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
  }
  yield encoder.encode('data: [DONE]\n\n');
}
