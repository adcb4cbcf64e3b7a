// Upstreams that speak OpenAI's protocol: bytes pass through unchanged in both directions.
import type { ModelType, TranscriptionParams } from '@switchyard/contracts';
import { FormData } from 'undici';
import { notifyWhenSent } from '../http/accepted-requests.ts';
import { readRetryAfter } from '../http/retry-after.ts';
import type { CallOptions, ConnectedDeps, Maker, UpstreamAnswer, UpstreamRequest } from './maker.ts';

const PATHS: Partial<Record<ModelType, string>> = {
  language: '/chat/completions',
  embedding: '/embeddings',
  image: '/images/generations',
  decision: '/decisions',
  rerank: '/rerank',
  speech: '/audio/speech',
  transcription: '/audio/transcriptions',
};

/** Streams are read event by event, so that a used-up budget ends one at once, not a buffer later. */
const STREAM_BUFFER_BYTES = 1;

export function openAiCompatible(deps: ConnectedDeps): Maker {
  return { call: (request, options) => call(deps, request, options) };
}

async function call(
  { secret, now, dispatcher }: ConnectedDeps,
  request: UpstreamRequest,
  { signal, onRequest, onAccepted }: CallOptions,
): Promise<UpstreamAnswer> {
  const { upstream, type } = request;
  const url = new URL(`${upstream.base_url?.replace(/\/$/, '')}${PATHS[type]}`);
  const key = upstream.api_key_env === undefined ? undefined : secret(upstream.api_key_env);
  const { headers, body } = contentOf(request);
  onRequest();
  const answer = await notifyWhenSent(dispatcher, onAccepted).request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'POST',
    headers: {
      ...headers,
      accept: acceptOf(request),
      'accept-encoding': 'identity', // without the header a server may choose gzip
      'x-request-id': request.requestId,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body,
    signal,
    ...(request.stream ? { highWaterMark: STREAM_BUFFER_BYTES } : {}),
  });
  const { 'content-type': contentType } = answer.headers;
  return {
    status: answer.statusCode,
    contentType: typeof contentType === 'string' ? contentType : 'application/octet-stream',
    retryAfterS: answer.statusCode < 400 ? null : readRetryAfter(answer.headers, now),
    body: answer.body,
  };
}

function contentOf({ upstream, body, transcription }: UpstreamRequest) {
  if (transcription) return { headers: {}, body: formOf(upstream.model, body, transcription) };
  return { headers: { 'content-type': 'application/json' }, body };
}

/** Lists in the form of OpenAI's clients, objects as JSON; null values are left out. */
function formOf(model: string, audio: Buffer, params: TranscriptionParams): FormData {
  const { media_type: type, filename, ...fields } = params;
  const form = new FormData();
  for (const [name, value] of Object.entries({ model, ...fields })) {
    if (value === null || value === undefined) continue;
    if (!Array.isArray(value)) form.append(name, fieldOf(value));
    else for (const one of value) form.append(`${name}[]`, fieldOf(one));
  }
  form.append('file', new File([audio as Buffer<ArrayBuffer>], filename, { type }));
  return form;
}

function fieldOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function acceptOf({ type, stream }: UpstreamRequest): string {
  if (type === 'speech') return 'audio/*';
  return stream ? 'text/event-stream' : 'application/json';
}
