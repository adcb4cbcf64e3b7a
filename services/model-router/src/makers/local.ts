// The models that run inside the router: no key, no network.
import { createLocalModels } from '@switchyard/local-models';
import type { Maker } from './maker.ts';

export function localModels(now: () => number): Maker {
  const models = createLocalModels({ now });
  return {
    async call(request, { signal, onRequest, onAccepted: begun }) {
      const { type, upstream, body, transcription: params = {}, stream } = request;
      onRequest();
      const call = { type, model: upstream.model, body, params, stream, signal, begun };
      return { ...(await models.answer(call)), retryAfterS: null };
    },
  };
}
