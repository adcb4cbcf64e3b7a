// Mistral: chat completions and embeddings.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { chat } from './chat.ts';

export const mistral: MakerDeclaration = {
  name: 'mistral',
  types: ['language', 'embedding'],
  baseUrl: 'https://api.mistral.ai/v1',
  apiKeyEnv: 'MISTRAL_API_KEY',
  chat,
  async create(settings) {
    const { createMistral } = await import('@ai-sdk/mistral');
    const maker = createMistral(settings);
    return { language: (id) => maker.languageModel(id), embedding: (id) => maker.embeddingModel(id) };
  },
};
