// The models that run inside the router: no key, no network.
import type { ModelType } from '@switchyard/contracts';
import { answerLocally, Places } from '../local/index.ts';
import { answeredExchange } from './answered-exchange.ts';
import type { Exchange, Maker, UpstreamRequest, UpstreamSink } from './maker.ts';

/** Videos are jobs of services/video-worker (videos/local-videos.ts). */
const TYPES: readonly ModelType[] = [
  'language',
  'embedding',
  'image',
  'speech',
  'decision',
  'rerank',
  'transcription',
  'video',
];

/** Transcriptions that run at once in a process: each takes a core and 100 MB, the others wait their turn. */
const TRANSCRIPTIONS_AT_ONCE = 2;

export function localModels(now: () => number): Maker {
  const places = new Places(TRANSCRIPTIONS_AT_ONCE);
  return { types: TYPES, start: (request, sink) => start({ now, places }, request, sink) };
}

function start(
  on: { now: () => number; places: Places },
  request: UpstreamRequest,
  sink: UpstreamSink,
): Exchange {
  const { type, upstream, body, transcription = {}, stream } = request;
  return answeredExchange(async (signal) => {
    const answer = await answerLocally({
      type,
      model: upstream.model,
      body,
      params: transcription,
      stream,
      signal,
      ...on,
    });
    return { ...answer, retryAfterS: null };
  }, sink);
}
