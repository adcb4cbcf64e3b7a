// Voyage AI: embeddings and reranking. Its provider package implements version 3 of the AI SDK's interface, which differs
// from version 4 only in its name for what is used here.
import type {
  EmbeddingModelV3,
  EmbeddingModelV4,
  RerankingModelV3,
  RerankingModelV4,
} from '@ai-sdk/provider';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const voyage: MakerDeclaration = {
  name: 'voyage',
  types: ['embedding', 'rerank'],
  baseUrl: 'https://api.voyageai.com/v1',
  apiKeyEnv: 'VOYAGE_API_KEY',
  fields: {
    embedding: { sent: { dimensions: 'output_dimension' } },
    rerank: { sent: { truncation: 'truncation' } },
  },
  async create(settings) {
    const { createVoyage } = await import('@ai-sdk/voyage');
    const maker = createVoyage(settings);
    return {
      embedding: (id) => embeddingV4(maker.embeddingModel(id)),
      rerank: (id) => rerankingV4(maker.rerankingModel(id)),
    };
  },
};

function embeddingV4(model: EmbeddingModelV3): EmbeddingModelV4 {
  const { provider, modelId, maxEmbeddingsPerCall, supportsParallelCalls } = model;
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    maxEmbeddingsPerCall,
    supportsParallelCalls,
    doEmbed: async (options) => ({ ...(await model.doEmbed(options)), warnings: [] }),
  };
}

function rerankingV4(model: RerankingModelV3): RerankingModelV4 {
  const { provider, modelId } = model;
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    doRerank: async (options) => ({ ...(await model.doRerank(options)), warnings: [] }),
  };
}
