// vLLM lists its model, adapters and context at `/v1/models`, but not the type; the name of the URL setting gives the
// type.
import type { CatalogModel, ModelType } from '@switchyard/contracts';
import { z } from 'zod';
import { type AskOptions, askServer } from './ask-server.ts';
import {
  catalogEntry,
  type FoundModel,
  MODELS_PER_SERVER_MAX,
  type ModelServer,
  type TokenPrices,
} from './model-server.ts';

const models = z.object({
  data: z.array(z.object({ id: z.string(), max_model_len: z.int().positive().nullish() })),
});

type VllmType = Extract<ModelType, 'language' | 'embedding' | 'rerank'>;

interface VllmOptions extends Omit<AskOptions, 'signal'> {
  /** With or without a trailing `/v1`. */
  url: string;
  type: VllmType;
  prices: TokenPrices;
  apiKeyEnv: string | undefined;
}

const PARAMETERS: Record<VllmType, string[]> = {
  language: ['max_tokens', 'temperature', 'top_p', 'stop', 'seed', 'response_format', 'tools'],
  embedding: ['dimensions', 'encoding_format'],
  rerank: ['top_n'],
};

export function vllmServer({ url, type, prices, apiKeyEnv, ...ask }: VllmOptions): ModelServer {
  const root = url.replace(/\/+$/, '').replace(/\/v1$/, '');
  const baseUrl = `${root}/v1`;
  return {
    name: 'vllm',
    url: root,
    async list(signal) {
      const { data } = await askServer(`${baseUrl}/models`, models, { ...ask, signal });
      return data.slice(0, MODELS_PER_SERVER_MAX).flatMap(({ id, max_model_len: contextLength }) => {
        const found: FoundModel = {
          name: id,
          type,
          description: 'On your own vLLM.',
          inputs: ['text'],
          contextLength: contextLength ?? undefined,
          limits: {},
          supportedParameters: PARAMETERS[type],
        };
        const entry: CatalogModel | null = catalogEntry(found, { maker: 'vllm', baseUrl, prices, apiKeyEnv });
        return entry ?? [];
      });
    },
  };
}
