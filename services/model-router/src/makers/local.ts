// The models that run inside the router: no key, no network.
import type { ModelType } from '@switchyard/contracts';
import { createLocalModels } from '@switchyard/local-models';
import type { Maker } from './maker.ts';

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

export function localModels(now: () => number): Maker {
  const models = createLocalModels({ now });
  return {
    types: TYPES,
    async call(request, { signal, onRequest, onAccepted: begun }) {
      const { type, upstream, body, transcription: params = {}, stream } = request;
      onRequest();
      const call = { type, model: upstream.model, body, params, stream, signal, begun };
      return { ...(await models.answer(call)), retryAfterS: null };
    },
  };
}
