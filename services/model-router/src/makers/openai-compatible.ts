// Upstreams that speak OpenAI's protocol: the fast path. Bytes go out and come back as they are.
import type { ModelType } from '@switchyard/contracts';
import { Agent, type Dispatcher } from 'undici';
import type { Exchange, Maker, UpstreamHead, UpstreamRequest, UpstreamSink } from './maker.ts';
import { readRetryAfter } from './retry-after.ts';
import { transcriptionForm } from './transcription-form.ts';

const PATHS: Partial<Record<ModelType, string>> = {
  language: '/chat/completions',
  embedding: '/embeddings',
  image: '/images/generations',
  decision: '/decisions',
  rerank: '/rerank',
  speech: '/audio/speech',
  transcription: '/audio/transcriptions',
};

const CONNECTIONS_PER_UPSTREAM_MAX = 256;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

export interface OpenAiCompatibleOptions {
  /** Reads an upstream's credentials by the name of their variable. */
  secret(name: string): string | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface OpenAiCompatible extends Maker {
  close(): Promise<void>;
}

export function openAiCompatible({ secret, now }: OpenAiCompatibleOptions): OpenAiCompatible {
  const agent = new Agent({
    connections: CONNECTIONS_PER_UPSTREAM_MAX,
    pipelining: 1,
    // A connection for each call: one that breaks takes no other with it, and one that does not come about holds none up.
    allowH2: false,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0, // the attempt has its own clocks, per upstream
    bodyTimeout: 0,
  });
  return {
    types: [...(Object.keys(PATHS) as ModelType[]), 'video'], // a video is a job: videos/openai-videos.ts
    start: (request, sink) => start(agent, { secret, now }, request, sink),
    close: () => agent.destroy(),
  };
}

function start(
  agent: Agent,
  { secret, now }: OpenAiCompatibleOptions,
  request: UpstreamRequest,
  sink: UpstreamSink,
): Exchange {
  const { upstream, type } = request;
  const url = new URL(`${upstream.base_url?.replace(/\/$/, '')}${PATHS[type]}`);
  const key = upstream.api_key_env === undefined ? undefined : secret(upstream.api_key_env);
  const exchange = new DispatchedExchange(sink, now);
  const { headers, body } = contentOf(request);
  agent.dispatch(
    {
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: {
        ...headers,
        accept: acceptOf(request),
        'x-request-id': request.requestId,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body,
    },
    exchange,
  );
  return exchange;
}

function contentOf({ upstream, body, transcription }: UpstreamRequest) {
  if (!transcription) return { headers: { 'content-type': 'application/json' }, body };
  const form = transcriptionForm(upstream.model, body, transcription);
  const headers = { 'content-type': form.contentType, 'content-length': String(form.contentLength) };
  return { headers, body: form.body };
}

function acceptOf({ type, stream }: UpstreamRequest): string {
  if (type === 'speech') return 'audio/*';
  return stream ? 'text/event-stream' : 'application/json';
}

class DispatchedExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly #sink: UpstreamSink;
  #controller: Dispatcher.DispatchController | null = null;
  #over = false;
  readonly #now: () => number;

  constructor(sink: UpstreamSink, now: () => number) {
    this.#sink = sink;
    this.#now = now;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('the call is over'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#over || status < 200) return;
    this.#sink.onHead(readHead(status, headers, this.#now));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#over) this.#sink.onData(chunk);
  }

  onResponseEnd(): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.onError(error);
  }

  pause(): void {
    if (!this.#over) this.#controller?.pause();
  }

  resume(): void {
    if (!this.#over) this.#controller?.resume();
  }

  abort(): void {
    if (this.#over) return;
    this.#over = true;
    this.#controller?.abort(new Error('the call is over'));
  }
}

function readHead(
  status: number,
  headers: Record<string, string | string[] | undefined>,
  now: () => number,
): UpstreamHead {
  const contentType = headers['content-type'];
  return {
    status,
    contentType: typeof contentType === 'string' ? contentType : 'application/octet-stream',
    retryAfterS: status < 400 ? null : readRetryAfter(headers, now),
  };
}
