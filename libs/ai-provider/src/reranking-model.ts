import type { RerankingModelV4, RerankingModelV4CallOptions, RerankingModelV4Result } from '@ai-sdk/provider';
import { rerankResult } from '@switchyard/contracts';
import { type ApiAccess, costMetadata, extraFields, NAME, postJson } from './call-api.ts';

export class SwitchyardRerankingModel implements RerankingModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider = `${NAME}.reranking`;
  readonly modelId: string;
  readonly #access: ApiAccess;

  constructor(access: ApiAccess, modelId: string) {
    this.#access = access;
    this.modelId = modelId;
  }

  async doRerank(options: RerankingModelV4CallOptions): Promise<RerankingModelV4Result> {
    const { documents, query, topN, providerOptions } = options;
    const body = {
      model: this.modelId,
      query,
      // Makers rank texts, so objects are sent as JSON.
      documents:
        documents.type === 'text' ? documents.values : documents.values.map((value) => JSON.stringify(value)),
      top_n: topN,
      ...extraFields(providerOptions),
    };
    const { value, rawValue, responseHeaders } = await postJson(
      this.#access,
      '/rerank',
      body,
      rerankResult,
      options,
    );
    return {
      ranking: value.results.map(({ index, relevance_score: relevanceScore }) => ({ index, relevanceScore })),
      warnings: [],
      providerMetadata: costMetadata(value.usage.cost),
      response: {
        modelId: value.model,
        ...(responseHeaders ? { headers: responseHeaders } : {}),
        body: rawValue,
      },
    };
  }
}
