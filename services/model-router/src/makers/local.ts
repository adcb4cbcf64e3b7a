// The models that run inside the router: no key, no network.
import type { ModelType } from '@switchyard/contracts';
import { answerLocally } from '../local/index.ts';
import { answeredExchange } from './answered-exchange.ts';
import type { Exchange, Maker, UpstreamRequest, UpstreamSink } from './maker.ts';

/** Transcription waits for its endpoint. Videos are jobs of services/video-worker (videos/local-videos.ts). */
const TYPES: readonly ModelType[] = [
  'language',
  'embedding',
  'image',
  'speech',
  'decision',
  'rerank',
  'video',
];

export function localModels(now: () => number): Maker {
  return { types: TYPES, start: (request, sink) => start(now, request, sink) };
}

function start(now: () => number, request: UpstreamRequest, sink: UpstreamSink): Exchange {
  const { type, upstream, body, stream } = request;
  return answeredExchange(async (signal) => {
    const answer = await answerLocally({ type, model: upstream.model, body, stream, signal, now });
    return { ...answer, retryAfterS: null };
  }, sink);
}
