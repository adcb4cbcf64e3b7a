// Embeddings: splits many texts into requests and adds up their costs.
import type { EmbeddingModelV4, EmbeddingModelV4CallOptions, EmbeddingModelV4Result } from '@ai-sdk/provider';
import { convertBase64ToUint8Array } from '@ai-sdk/provider-utils';
import { EMBEDDING_INPUTS_MAX, embeddingsResult } from '@switchyard/contracts';
import { costMetadata, extraFields, NAME, NANOS_PER_DOLLAR, postJson, SwitchyardModel } from './call-api.ts';

export class SwitchyardEmbeddingModel extends SwitchyardModel implements EmbeddingModelV4 {
  readonly provider = `${NAME}.embedding`;
  /** The SDK would keep the metadata of the last call only, and with it the cost of that call. */
  readonly maxEmbeddingsPerCall = Number.POSITIVE_INFINITY;
  readonly supportsParallelCalls = true;

  async doEmbed(options: EmbeddingModelV4CallOptions): Promise<EmbeddingModelV4Result> {
    const result: EmbeddingModelV4Result = { embeddings: [], warnings: [] };
    let tokens = 0;
    let nanos = 0;
    for (let at = 0; at < options.values.length; at += EMBEDDING_INPUTS_MAX) {
      const values = options.values.slice(at, at + EMBEDDING_INPUTS_MAX);
      const { embeddings, usage, response } = await this.#embed({ ...options, values });
      result.embeddings.push(...embeddings);
      result.response = response;
      tokens += usage.prompt_tokens;
      nanos += Math.round(usage.cost * NANOS_PER_DOLLAR);
    }
    return { ...result, usage: { tokens }, providerMetadata: costMetadata(nanos / NANOS_PER_DOLLAR) };
  }

  /** One request. */
  async #embed(options: EmbeddingModelV4CallOptions) {
    const { values, dimensions, providerOptions } = options;
    const body = {
      model: this.modelId,
      input: values,
      // A third of the size of numbers, of which 2,048 long vectors are more than one answer may have.
      encoding_format: 'base64',
      dimensions,
      ...extraFields(providerOptions),
    };
    const { value, response } = await postJson(this.access, '/embeddings', body, embeddingsResult, options);
    return {
      embeddings: value.data
        .toSorted((a, b) => a.index - b.index)
        .map(({ embedding }) => (typeof embedding === 'string' ? decode(embedding) : embedding)),
      usage: value.usage,
      response,
    };
  }
}

const FLOAT_BYTES = 4;

/** OpenAI's base64 format: 32-bit floats, little-endian. Some servers answer with numbers all the same. */
function decode(embedding: string): number[] {
  const { buffer, byteLength } = convertBase64ToUint8Array(embedding);
  const bytes = new DataView(buffer);
  return Array.from({ length: byteLength / FLOAT_BYTES }, (_, index) =>
    bytes.getFloat32(index * FLOAT_BYTES, true),
  );
}
