// Cohere's API, version 2: chat, embeddings, reranking.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const cohere: MakerDeclaration = {
  name: 'cohere',
  types: ['language', 'embedding', 'rerank'],
  baseUrl: 'https://api.cohere.com/v2',
  apiKeyEnv: 'COHERE_API_KEY',
  chat: {
    imageDetail: 'detail',
    /** `tokens` includes Cohere's own framing of the prompt, which is not billed. */
    billedTokens: ({ billed_units: billed }) => {
      const { input_tokens: input, output_tokens: output } = (billed ?? {}) as Record<string, unknown>;
      return typeof input === 'number' && typeof output === 'number' ? { input, output } : undefined;
    },
  },
  fields: {
    // Not through the AI SDK, which supports dimensions for one model only.
    embedding: { sent: { dimensions: 'output_dimension' } },
    rerank: { sent: { max_tokens_per_doc: 'max_tokens_per_doc', priority: 'priority' } },
  },
  async create(settings) {
    const { createCohere } = await import('@ai-sdk/cohere');
    const maker = createCohere(settings);
    return {
      language: (id) => maker.languageModel(id),
      embedding: (id) => maker.embeddingModel(id),
      rerank: (id) => maker.rerankingModel(id),
    };
  },
};
