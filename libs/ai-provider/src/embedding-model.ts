import type { EmbeddingModelV4, EmbeddingModelV4CallOptions, EmbeddingModelV4Result } from '@ai-sdk/provider';
import { EMBEDDING_INPUTS_MAX, embeddingsResult } from '@switchyard/contracts';
import { z } from 'zod';
import { type ApiAccess, costMetadata, extraFields, NAME, postJson } from './call-api.ts';

const vectors = z.array(z.array(z.number()));

export class SwitchyardEmbeddingModel implements EmbeddingModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider = `${NAME}.embedding`;
  readonly maxEmbeddingsPerCall = EMBEDDING_INPUTS_MAX;
  readonly supportsParallelCalls = true;
  readonly modelId: string;
  readonly #access: ApiAccess;

  constructor(access: ApiAccess, modelId: string) {
    this.#access = access;
    this.modelId = modelId;
  }

  async doEmbed(options: EmbeddingModelV4CallOptions): Promise<EmbeddingModelV4Result> {
    const { values, dimensions, providerOptions } = options;
    const body = {
      model: this.modelId,
      input: values,
      encoding_format: 'float',
      dimensions,
      ...extraFields(providerOptions),
    };
    const { value, rawValue, responseHeaders } = await postJson(
      this.#access,
      '/embeddings',
      body,
      embeddingsResult,
      options,
    );
    return {
      embeddings: vectors.parse(value.data.toSorted((a, b) => a.index - b.index).map((one) => one.embedding)),
      usage: { tokens: value.usage.prompt_tokens },
      warnings: [],
      providerMetadata: costMetadata(value.usage.cost),
      response: { ...(responseHeaders ? { headers: responseHeaders } : {}), body: rawValue },
    };
  }
}
