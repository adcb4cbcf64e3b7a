// Cohere's chat, version 2.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const cohere: MakerDeclaration = {
  name: 'cohere',
  types: ['language'],
  baseUrl: 'https://api.cohere.com/v2',
  apiKeyEnv: 'COHERE_API_KEY',
  async create(settings) {
    const { createCohere } = await import('@ai-sdk/cohere');
    const maker = createCohere(settings);
    return { language: (id) => maker.languageModel(id) };
  },
};
