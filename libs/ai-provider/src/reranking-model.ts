import type { RerankingModelV4, RerankingModelV4CallOptions, RerankingModelV4Result } from '@ai-sdk/provider';
import { rerankResult } from '@switchyard/contracts';
import { costMetadata, extraFields, NAME, postJson, SwitchyardModel } from './call-api.ts';

export class SwitchyardRerankingModel extends SwitchyardModel implements RerankingModelV4 {
  readonly provider = `${NAME}.reranking`;

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
    const { value, response } = await postJson(this.access, '/rerank', body, rerankResult, options);
    return {
      ranking: value.results.map(({ index, relevance_score: relevanceScore }) => ({ index, relevanceScore })),
      warnings: [],
      providerMetadata: costMetadata(value.usage.cost),
      response: {
        modelId: value.model,
        ...response,
      },
    };
  }
}
