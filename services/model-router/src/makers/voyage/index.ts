// Voyage AI: embeddings and reranking. Its provider package implements version 3 of the AI SDK's interface.
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
      embedding: (id) => maker.embeddingModel(id),
      rerank: (id) => maker.rerankingModel(id),
    };
  },
};
